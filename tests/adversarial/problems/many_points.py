"""A small network for each of very many points."""

import torch

POINTS, HIDDEN = 1 << 20, 128


class Model(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.first = torch.nn.Linear(2, hidden)
        self.second = torch.nn.Linear(hidden, hidden)
        self.third = torch.nn.Linear(hidden, 3)

    def forward(self, x):
        return self.third(torch.sin(self.second(torch.sin(self.first(x)))))


def get_inputs():
    return [torch.randn(POINTS, 2)]


def get_init_inputs():
    return [HIDDEN]
