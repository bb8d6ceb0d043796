"""A layer with an adapter of low rank, which begins closed."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d, rank, alpha):
        super().__init__()
        self.base = nn.Linear(d, d)
        self.down = nn.Parameter(torch.empty(rank, d))
        self.up = nn.Parameter(torch.zeros(d, rank))
        nn.init.kaiming_uniform_(self.down)
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + (x @ self.down.t() @ self.up.t()) * self.scaling


def get_inputs():
    return [torch.randn(128, 128)]


def get_init_inputs():
    return [128, 8, 16]
