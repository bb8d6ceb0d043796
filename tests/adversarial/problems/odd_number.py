"""So many elements that vectors of four leave three over."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + 0.5 * x * y


def get_inputs():
    return [torch.randn(1_000_003), torch.randn(1_000_003)]
