"""Rotary position embedding of queries and keys, the halves of each head's dimension as real and imaginary part."""

import torch
from torch import nn

BATCH, HEADS, LENGTH, DIM = 8, 16, 2048, 128


class Model(nn.Module):
    def __init__(self, dim: int, length: int, base: float = 10000.0):
        super().__init__()
        frequencies = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(length).float(), frequencies)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        real, imaginary = x.chunk(2, dim=-1)
        return torch.cat((real * self.cos - imaginary * self.sin, imaginary * self.cos + real * self.sin), dim=-1)

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.rotate(q), self.rotate(k)


def get_inputs():
    return [torch.randn(BATCH, HEADS, LENGTH, DIM), torch.randn(BATCH, HEADS, LENGTH, DIM)]


def get_init_inputs():
    return [DIM, LENGTH]
