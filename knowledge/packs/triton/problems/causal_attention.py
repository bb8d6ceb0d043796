"""Causal scaled dot product attention in half precision."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, HEADS, LENGTH, DIM = 4, 16, 2048, 64


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [torch.randn(BATCH, HEADS, LENGTH, DIM).half() for _ in range(3)]


def get_init_inputs():
    return []
