"""A product whose result is 9 by 16 tiles of 128 by 256."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs(m=1152, n=4096, k=8192):
    return [torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()]
