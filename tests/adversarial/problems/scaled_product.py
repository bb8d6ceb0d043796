"""A norm and a product."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.w = nn.Parameter(torch.randn(d, d) / d**0.5)

    def forward(self, x):
        return self.ln(x) @ self.w


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [64]
