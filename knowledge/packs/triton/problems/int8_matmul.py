"""Product of int8 activations and weights, scaled by row and by column."""

import torch
from torch import nn

M, N, K = 2048, 4096, 4096


class Model(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor, weight_scale: torch.Tensor) -> torch.Tensor:
        product = torch._int_mm(x, weight.t())
        return (product * x_scale[:, None] * weight_scale[None, :])


def get_inputs():
    return [
        torch.randint(-127, 128, (M, K), dtype=torch.int8),
        torch.randint(-127, 128, (N, K), dtype=torch.int8),
        torch.rand(M) * 0.001 + 0.0001,
        torch.rand(N) * 0.01 + 0.001,
    ]


def get_init_inputs():
    return []
