"""A product in sixteen bits between values in thirty-two."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d).bfloat16()

    def forward(self, x):
        return self.fc(x.bfloat16()).float()


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return [64]
