"""Rows of a table by index, scaled: integer and floating inputs together."""

import torch


class Model(torch.nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = torch.nn.Embedding(rows, width)

    def forward(self, index, scale):
        return self.table(index) * scale.unsqueeze(-1)


def get_inputs():
    return [torch.randint(0, 1000, (32, 40)), torch.rand(32, 40)]


def get_init_inputs():
    return [1000, 48]
