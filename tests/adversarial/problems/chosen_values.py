"""Roots of a few values that a mask chooses."""

import torch

ROWS, COLUMNS, CHOSEN = 4096, 4096, 0.02


class Model(torch.nn.Module):
    def forward(self, x, mask):
        return torch.sqrt(x[mask].abs())


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.rand(ROWS, COLUMNS) < CHOSEN]


def get_init_inputs():
    return []
