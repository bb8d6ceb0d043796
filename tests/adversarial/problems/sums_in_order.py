"""Sums of rows by the group that each belongs to, always added in the same order."""

import torch

ROWS, COLUMNS, GROUPS = 1 << 20, 8, 16384


class Model(torch.nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, values, group):
        order = torch.argsort(group, stable=True)
        lengths = torch.bincount(group, minlength=self.groups)
        return torch.segment_reduce(values[order], "sum", lengths=lengths, unsafe=True)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randint(0, GROUPS, (ROWS,))]


def get_init_inputs():
    return [GROUPS]
