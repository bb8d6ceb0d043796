"""A float32 linear layer with ReLU behind it."""

import torch
import torch.nn.functional as F
from torch import nn

ROWS, IN, OUT = 2048, 1024, 2048


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.linear(x))


def get_inputs():
    return [torch.randn(ROWS, IN)]


def get_init_inputs():
    return [IN, OUT]
