"""A batch norm as in training: it goes by the statistics of the batch, and moves the running ones, which none of its outputs shows."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("var", torch.ones(channels))
        self.register_buffer("seen", torch.tensor(0))

    def forward(self, x):
        self.seen += 1
        return F.batch_norm(x, self.mean, self.var, self.weight, self.bias, True, 0.1, 1e-5)


def get_inputs():
    return [torch.randn(8, 12, 16, 16) * 2 + 0.5]


def get_init_inputs():
    return [12]
