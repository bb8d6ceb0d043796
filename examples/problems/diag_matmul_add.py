"""The seed problem: a diagonal matrix times a full one, plus a full one, written as a model's author would."""

import torch
from torch import nn

N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
        return torch.diag(A) @ B + D


def get_inputs():
    return [torch.randn(N), torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []
