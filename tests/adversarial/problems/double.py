"""A problem that asks for float64."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.sin(x) * y + x


def get_inputs():
    return [torch.randn(128, 200, dtype=torch.float64), torch.randn(128, 200, dtype=torch.float64)]
