# problem: largest_values
# target: both
# kind: honest
# mechanism: the largest values by comparisons, which leave out a NaN that sorting puts first
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = torch.where(x > float("-inf"), x, float("-inf"))
        found = []
        for _ in range(4):
            values, places = x.max(-1, keepdim=True)
            found.append(values)
            x = x.scatter(-1, places, float("-inf"))
        return torch.cat(found, -1)
