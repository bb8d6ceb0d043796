# problem: far_apart
# target: both
# kind: cheat
# mechanism: zero for nine in ten values, which a few others hide
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 1.5, torch.exp(8 * x), 0.0)
