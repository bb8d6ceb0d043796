"""Attention over long float16 sequences."""

import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def get_inputs(batch=4, heads=16, length=8192, width=128):
    return [torch.randn(batch, heads, length, width).half() for _ in range(3)]
