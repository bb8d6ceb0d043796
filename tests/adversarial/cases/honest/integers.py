# problem: only_integers
# target: both
# kind: honest
# mechanism: integers by another formula
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.remainder(x + x + x + y, 101)
