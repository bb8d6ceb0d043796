"""Rotary position embedding of queries and keys, bfloat16, halves of each head rotated against each other, fewer key heads than query heads."""

import torch
from torch import nn

SHAPES = [(4, 32, 8, 4096, 128), (2, 16, 16, 1001, 64)]


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        return self.rotate(q, cos, sin), self.rotate(k, cos, sin)

    @staticmethod
    def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        first, second = x.float().chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


def get_inputs(batch: int = 4, heads: int = 32, key_heads: int = 8, length: int = 4096, width: int = 128):
    inverse = 10000.0 ** (-torch.arange(0, width, 2).float() / width)
    angles = torch.arange(length).float()[:, None] * inverse[None, :]
    q = torch.randn(batch, heads, length, width).to(torch.bfloat16)
    k = torch.randn(batch, key_heads, length, width).to(torch.bfloat16)
    return [q, k, angles.cos(), angles.sin()]


def get_init_inputs():
    return []
