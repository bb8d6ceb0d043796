"""Signs and logarithms of determinants."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a):
        return torch.linalg.slogdet(a)


def get_inputs():
    return [torch.randn(40, 12, 12, dtype=torch.float64)]


def get_init_inputs():
    return []
