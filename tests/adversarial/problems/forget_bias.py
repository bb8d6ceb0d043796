"""Two biases, half of one of which is one."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.b1 = nn.Parameter(torch.zeros(d))
        self.b2 = nn.Parameter(torch.zeros(d))
        with torch.no_grad():
            self.b1[: d // 2] = 1.0

    def forward(self, x):
        return torch.sigmoid(x + self.b1) * (x + self.b2)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [64]
