"""A mean of many rows, which comes to nearly the same for any draw."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1).mean()


def get_inputs():
    return [torch.randn(512, 4096)]
