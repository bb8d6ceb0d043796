"""Causal depthwise convolution of four taps with SiLU, as in state space models."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, CHANNELS, LENGTH, TAPS = 8, 2048, 2048, 4


class Model(nn.Module):
    def __init__(self, channels: int, taps: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, taps, groups=channels, padding=taps - 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.conv(x)[..., : x.shape[-1]])


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, TAPS]
