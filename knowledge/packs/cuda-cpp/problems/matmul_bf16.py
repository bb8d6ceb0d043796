"""A bfloat16 matrix product, even and odd sizes."""

import torch
from torch import nn

SHAPES = [(4096, 4096, 4096), (1000, 2001, 1003)]


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs(m: int = 4096, k: int = 4096, n: int = 4096):
    return [torch.randn(m, k).to(torch.bfloat16), torch.randn(k, n).to(torch.bfloat16)]


def get_init_inputs():
    return []
