"""Rounds to steps of the largest value that calls have had so far."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mx", torch.tensor(0.0))

    def forward(self, x):
        self.mx = torch.maximum(self.mx, x.abs().amax())
        return torch.round(x / self.mx * 127) * self.mx / 127


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
