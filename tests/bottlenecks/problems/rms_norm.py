"""Normalisation of rows by the root of their mean square."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def get_inputs(rows=32768, columns=4096):
    return [torch.randn(rows, columns), torch.rand(columns) + 0.5]
