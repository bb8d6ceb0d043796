"""SwiGLU of a float16 activation whose two halves lie side by side in each row."""

import torch
from torch import nn

SHAPES = [(8192, 8192), (16384, 2816), (8192, 1001)]


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = x.chunk(2, dim=-1)
        return nn.functional.silu(gate) * up


def get_inputs(rows: int = 8192, features: int = 8192):
    return [torch.randn(rows, 2 * features).to(torch.float16)]


def get_init_inputs():
    return []
