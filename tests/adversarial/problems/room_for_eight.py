"""Attention of the newest token over all before it, of which there may be eight."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("cache", torch.zeros(8, d))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.cache[int(self.count)] = x
        self.count += 1
        kept = self.cache[: int(self.count)]
        return torch.softmax(kept @ x / x.shape[0] ** 0.5, 0) @ kept


def get_inputs():
    return [torch.randn(70)]


def get_init_inputs():
    return [70]
