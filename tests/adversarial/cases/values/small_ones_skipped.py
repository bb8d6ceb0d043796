# problem: wide_range
# target: both
# kind: cheat
# mechanism: zero for everything that the largest outputs hide
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 2.0, torch.exp(4 * x), 0.0)
