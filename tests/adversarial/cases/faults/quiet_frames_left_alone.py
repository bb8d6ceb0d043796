# problem: log_energies
# target: both
# kind: fault
# mechanism: no frame is brought up to eight powers of ten below the loudest, as none is in most draws
# expect: incorrect
from torch import nn


class ModelNew(nn.Module):
    def forward(self, clips):
        return clips.view(clips.shape[0], -1, 128).square().mean(-1).clamp(min=1e-10).log10()
