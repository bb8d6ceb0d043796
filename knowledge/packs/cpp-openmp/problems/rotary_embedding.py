"""Rotary position embedding of queries."""

import torch
from torch import nn

BATCH, HEADS, POSITIONS, FEATURES = 2, 16, 1024, 128


class Model(nn.Module):
    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cosines + torch.cat((-second, first), dim=-1) * sines


def get_inputs():
    angles = torch.outer(torch.arange(POSITIONS).float(), 10000.0 ** (-torch.arange(0, FEATURES, 2).float() / FEATURES)).repeat(1, 2)
    return [torch.randn(BATCH, HEADS, POSITIONS, FEATURES), angles.cos(), angles.sin()]


def get_init_inputs():
    return []
