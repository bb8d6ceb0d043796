"""Nearly the identity."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 0.0025 * torch.tanh(x)


def get_inputs():
    return [torch.randn(128, 256)]
