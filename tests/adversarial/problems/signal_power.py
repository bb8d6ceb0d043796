"""The power of signals, added up over their frequencies."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.fft.fft(x).abs().square().sum(-1) / x.shape[-1] ** 2


def get_inputs():
    return [torch.randn(8, 32768)]
