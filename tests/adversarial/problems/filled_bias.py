"""A bias that is filled with zeros after it was drawn."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.ln = nn.LayerNorm(d)
        self.fc.bias.data.zero_()

    def forward(self, x):
        return self.ln(x) @ self.fc.weight.t() + self.fc.bias


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [64]
