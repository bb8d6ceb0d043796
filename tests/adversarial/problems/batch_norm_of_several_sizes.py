"""The batch norm that moves running statistics, on several sets of inputs."""

import torch
import torch.nn.functional as F
from torch import nn

SHAPES = [(8, 16), (4, 24), (3, 40)]


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("var", torch.ones(channels))

    def forward(self, x):
        return F.batch_norm(x, self.mean, self.var, None, None, True, 0.1, 1e-5)


def get_inputs(n, side):
    return [torch.randn(n, 12, side, side) * 2 + 0.5]


def get_init_inputs():
    return [12]
