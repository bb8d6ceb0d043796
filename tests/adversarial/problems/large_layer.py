"""One large layer."""

import torch

ROWS, INNER, OUTER = 3072, 4096, 4096


class Model(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.layer = torch.nn.Linear(inner, outer)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(ROWS, INNER)]


def get_init_inputs():
    return [INNER, OUTER]
