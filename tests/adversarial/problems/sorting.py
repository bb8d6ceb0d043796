"""A function that is quicker the second time on the same data."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sort(x).values


def get_inputs():
    return [torch.randn(2000)]
