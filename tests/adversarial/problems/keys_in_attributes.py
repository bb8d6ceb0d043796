"""Attention over all keys of the calls so far, which are kept in plain attributes."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = None
        self.v = None

    def forward(self, q, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], 1)
        self.v = v if self.v is None else torch.cat([self.v, v], 1)
        return torch.softmax(q @ self.k.mT / 8, -1) @ self.v


def get_inputs():
    return [torch.randn(4, 8, 64), torch.randn(4, 8, 64), torch.randn(4, 8, 64)]


def get_init_inputs():
    return []
