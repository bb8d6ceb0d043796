"""The 8 nearest neighbours (not oneself) of each point and the squared distances, nearest first."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        d = ((x[:, None] - x) ** 2).sum(-1)
        d.fill_diagonal_(float("inf"))
        v, i = d.topk(8, -1, largest=False, sorted=True)
        return v, i


def get_inputs():
    return [torch.randn(768, 16)]


def get_init_inputs():
    return []
