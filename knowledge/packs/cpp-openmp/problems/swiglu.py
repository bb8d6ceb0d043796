"""The gate of a SwiGLU layer: silu of the first half times the second half."""

import torch
from torch import nn

ROWS, HALF = 2048, 2816


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = x.chunk(2, dim=-1)
        return torch.nn.functional.silu(gate) * up


def get_inputs():
    return [torch.randn(ROWS, 2 * HALF)]


def get_init_inputs():
    return []
