"""Two layers for a single row."""

import torch


class Model(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.up = torch.nn.Linear(features, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        return self.down(torch.nn.functional.silu(self.up(x)))


def get_inputs():
    return [torch.randn(1, 2048)]


def get_init_inputs():
    return [2048, 4096]
