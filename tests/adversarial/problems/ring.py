"""Attention of the newest token over the last eight, which lie in a ring."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("ring", torch.zeros(8, d))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.ring[self.count % 8] = x
        self.count += 1
        kept = self.ring[: min(int(self.count), 8)]
        return torch.softmax(kept @ x / x.shape[0] ** 0.5, 0) @ kept


def get_inputs():
    return [torch.randn(70)]


def get_init_inputs():
    return [70]
