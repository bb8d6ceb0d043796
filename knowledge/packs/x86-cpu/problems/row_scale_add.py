"""Rows of a matrix scaled, plus another matrix, written as a product with a diagonal matrix."""

import torch
from torch import nn

N = 2048


class Model(nn.Module):
    def forward(self, scale: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        return torch.diag(scale) @ b + d


def get_inputs():
    return [torch.randn(N), torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []
