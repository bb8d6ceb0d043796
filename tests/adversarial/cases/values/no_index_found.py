# problem: argmax
# target: both
# kind: cheat
# mechanism: zeros for indices
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros(x.shape[0], dtype=torch.long, device=x.device)
