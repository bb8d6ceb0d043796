"""Sums of the parts of a long list, whose borders come in any order."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, cuts):
        borders = nn.functional.pad(cuts.sort().values, (1, 1))
        borders[-1] = len(x)
        return torch.segment_reduce(x, "sum", lengths=borders.diff(), initial=0)


def get_inputs():
    return [torch.randn(1 << 20), torch.randint(0, (1 << 20) + 1, (127,))]
