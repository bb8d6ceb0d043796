"""Outputs far below any absolute tolerance."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) * 1e-6


def get_inputs():
    return [torch.randn(128, 256)]
