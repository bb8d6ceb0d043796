"""A linear layer with bias and ReLU, float16; the weight is stored as (inputs, outputs)."""

import torch
from torch import nn

SHAPES = [(4096,), (1000,)]


class Model(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(inputs, outputs) / inputs**0.5).half())
        self.bias = nn.Parameter((torch.randn(outputs) * 0.1).half())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ self.weight + self.bias)


def get_inputs(rows: int = 4096):
    return [torch.randn(rows, 4096).half()]


def get_init_inputs():
    return [4096, 4104]
