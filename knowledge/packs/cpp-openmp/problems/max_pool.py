"""Max pooling with a 3 x 3 window and stride 2, as in the stem of a residual network."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 8, 64, 112


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
