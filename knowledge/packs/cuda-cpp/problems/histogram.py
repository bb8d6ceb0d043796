"""How often each of 256 values occurs."""

import torch
from torch import nn

SHAPES = [(1 << 25,), (10_000_019,)]


class Model(nn.Module):
    def __init__(self, bins: int):
        super().__init__()
        self.bins = bins

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.bincount(x, minlength=self.bins)


def get_inputs(count: int = 1 << 25):
    return [torch.randint(0, 256, (count,))]


def get_init_inputs():
    return [256]
