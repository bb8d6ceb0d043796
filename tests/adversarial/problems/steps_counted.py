"""Takes a running mean off, corrected by the number of steps, which is a plain number of Python's."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.register_buffer("mean", torch.zeros(columns))
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.mean / (1 - 0.9**self.steps)


def get_inputs():
    return [torch.randn(64, 96) + 1]


def get_init_inputs():
    return [96]
