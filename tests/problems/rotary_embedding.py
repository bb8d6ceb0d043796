"""Rotary position embedding of queries and keys, as many model repositories write it."""

import torch
from torch import nn

BATCH, HEADS, LENGTH, DIM = 2, 8, 512, 64


class Model(nn.Module):
    def __init__(self, dim: int, length: int, base: float = 10000.0):
        super().__init__()
        frequencies = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(length).float(), frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotate_half(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return torch.cat((-second, first), dim=-1)

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q_out = q * self.cos + self.rotate_half(q) * self.sin
        k_out = k * self.cos + self.rotate_half(k) * self.sin
        return q_out, k_out


def get_inputs():
    return [torch.randn(BATCH, HEADS, LENGTH, DIM), torch.randn(BATCH, HEADS, LENGTH, DIM)]


def get_init_inputs():
    return [DIM, LENGTH]
