"""Keeps its input for the next call."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.register_buffer("prev", torch.zeros(n, d))

    def forward(self, x):
        out = x - self.prev
        self.prev = x
        return out


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [32, 64]
