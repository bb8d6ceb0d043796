"""Which of a few ranges each value falls into; their edges are the same every time."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, edges):
        return torch.bucketize(x, edges)


def get_inputs():
    return [torch.randn(64, 512), torch.linspace(-2, 2, 17)]


def get_init_inputs():
    return []
