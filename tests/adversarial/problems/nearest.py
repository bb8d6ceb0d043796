"""Which row is largest, where two have the same elements in another order: rounding decides between them."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1).argmax()


def get_inputs():
    x = torch.rand(16, 4096) * 0.9
    first, second = torch.randperm(16)[:2]
    x[first] = torch.rand(4096) + 0.5
    x[second] = x[first].flip(0)
    return [x]
