# problem: tiny_values
# target: both
# kind: cheat
# mechanism: the first term of a series, right for small inputs only
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 1e-6
