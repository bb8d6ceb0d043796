"""Where the largest element of each row stands."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randn(64, 100)]
