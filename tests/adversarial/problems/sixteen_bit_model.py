"""A module in sixteen bits."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.ln = nn.LayerNorm(d)
        self.to(torch.bfloat16)

    def forward(self, x):
        return self.fc(self.ln(x))


def get_inputs():
    return [torch.randn(64, 64, dtype=torch.bfloat16)]


def get_init_inputs():
    return [64]
