"""Columns of length one: each feature over a batch."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.normalize(x, dim=0)


def get_inputs():
    return [torch.randn(512, 256)]
