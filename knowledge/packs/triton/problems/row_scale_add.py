"""A diagonal matrix times a matrix, plus a matrix, written as a matrix product."""

import torch
from torch import nn

ROWS, COLS = 4096, 4096


class Model(nn.Module):
    def forward(self, scale: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        return torch.diag(scale) @ b + d


def get_inputs():
    return [torch.randn(ROWS), torch.randn(ROWS, COLS), torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
