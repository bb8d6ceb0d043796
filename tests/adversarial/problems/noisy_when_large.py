"""Random numbers count only where elements are large, which those of the problem's own inputs are not."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.where(x.abs() > 50, x + torch.randn_like(x), x * 2)


def get_inputs():
    return [torch.randn(256, 128)]
