"""The lower triangle of a matrix times a matrix of eight columns."""

import torch
from torch import nn

N, COLUMNS = 4096, 8


class Model(nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) @ x


def get_inputs():
    return [torch.randn(N, N), torch.randn(N, COLUMNS)]


def get_init_inputs():
    return []
