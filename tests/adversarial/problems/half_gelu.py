"""GELU with a bias in float16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width).half())

    def forward(self, x):
        return torch.nn.functional.gelu(x + self.bias)


def get_inputs():
    return [torch.randn(96, 256).half()]


def get_init_inputs():
    return [256]
