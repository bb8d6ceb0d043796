# problem: log_energies
# target: both
# kind: fault
# mechanism: the loudest frame of all clips stands for that of each
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, clips):
        loudness = clips.view(clips.shape[0], -1, 128).square().mean(-1).clamp(min=1e-10).log10()
        return torch.maximum(loudness, loudness.amax() - 8.0)
