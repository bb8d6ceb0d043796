"""Keeps all rows that calls have had so far in a buffer that grows."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("k", torch.zeros(0, d))

    def forward(self, x):
        self.k = torch.cat([self.k, x])
        return torch.softmax(x @ self.k.t(), -1) @ self.k


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return [16]
