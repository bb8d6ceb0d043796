"""Depthwise 3 x 3 convolution followed by ReLU6."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 8, 96, 112


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.relu6(self.conv(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return [CHANNELS]
