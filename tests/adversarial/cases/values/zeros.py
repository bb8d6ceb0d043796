# problem: tiny_values
# target: both
# kind: cheat
# mechanism: zeros, inside any absolute tolerance
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
