"""Group norm followed by SiLU."""

import torch
from torch import nn

BATCH, CHANNELS, GROUPS, SIZE = 4, 128, 32, 64


class Model(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(self.norm(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE) * 2 + 0.5]


def get_init_inputs():
    return [GROUPS, CHANNELS]
