"""Elementwise, with a parameter and a buffer that are drawn at construction."""

import torch

ROWS, COLUMNS = 128, 512


class Model(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        return torch.relu(x * self.weight) + self.shift


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
