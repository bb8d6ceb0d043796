"""A square half precision product."""

import torch
from torch import nn

N = 4096


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(N, N).half(), (torch.randn(N, N) / N**0.5).half()]


def get_init_inputs():
    return []
