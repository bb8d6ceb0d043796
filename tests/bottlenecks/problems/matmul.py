"""A product of large bfloat16 matrices."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs(size=8192):
    return [torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()]
