"""Depthwise convolution, 3 x 3, stride 1, padding 1, with bias, NCHW."""

import torch
from torch import nn

SHAPES = [(8, 64, 512, 512), (32, 64, 113, 115), (16, 64, 20, 1028)]


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(batch: int = 8, channels: int = 64, height: int = 512, width: int = 512):
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [64]
