"""A mean to which a few large values add little, for the root that is taken of them."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.mean(torch.sqrt(x.abs() + 1.0))


def get_inputs():
    return [torch.rand(1024, 1024)]
