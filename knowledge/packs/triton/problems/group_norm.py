"""Group norm of an image batch with SiLU behind it."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, CHANNELS, SIDE, GROUPS = 16, 256, 64, 32


class Model(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.norm(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [GROUPS, CHANNELS]
