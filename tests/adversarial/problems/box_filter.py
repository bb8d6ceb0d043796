"""A mean over neighbours, as a convolution with a constant buffer."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.register_buffer("kernel", torch.ones(c, 1, 3, 3) / 9)

    def forward(self, x):
        return F.conv2d(x, self.kernel, padding=1, groups=self.c)


def get_inputs():
    return [torch.randn(2, 8, 32, 32)]


def get_init_inputs():
    return [8]
