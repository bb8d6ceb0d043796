"""Rows of a large table get updates; a row may get several, which one draw of two hundred has."""

import torch

ROWS, UPDATES = 400_000, 64


class Model(torch.nn.Module):
    def forward(self, table, rows, updates):
        return table.index_add(0, rows, updates)


def get_inputs():
    return [torch.randn(ROWS, 16), torch.randint(0, ROWS, (UPDATES,)), torch.randn(UPDATES, 16)]
