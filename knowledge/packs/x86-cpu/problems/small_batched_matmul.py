"""Many products of 8 x 8 matrices."""

import torch
from torch import nn

BATCH, N = 32768, 8


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(BATCH, N, N), torch.randn(BATCH, N, N)]


def get_init_inputs():
    return []
