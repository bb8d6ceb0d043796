"""A half precision product with a small result and a long inner dimension."""

import torch
from torch import nn

M, N, K = 256, 256, 32768


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K).half(), (torch.randn(K, N) / K**0.5).half()]


def get_init_inputs():
    return []
