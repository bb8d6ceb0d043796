"""Layer norm over the last dimension, with weight and bias."""

import torch
from torch import nn

SHAPES = [(16384, 4096), (32768, 1024), (16384, 1022)]


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features) * 0.1 + 1.0)
        self.bias = nn.Parameter(torch.randn(features) * 0.1)
        self.eps = 1e-5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = x.shape[-1]
        return nn.functional.layer_norm(x, (features,), self.weight[:features], self.bias[:features], self.eps)


def get_inputs(rows: int = 16384, features: int = 4096):
    return [torch.randn(rows, features) * 2.0 + 3.0]


def get_init_inputs():
    return [4096]
