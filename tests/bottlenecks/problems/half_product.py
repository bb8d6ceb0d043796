"""A product of float16 matrices."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs(size=2048):
    return [torch.randn(size, size).half(), torch.randn(size, size).half()]
