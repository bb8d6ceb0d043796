"""Attention whose scores are small, as at the beginning of training."""

import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.softmax(q @ k.mT / 8, -1) @ v


def get_inputs():
    return [torch.randn(2, 3, 301, 64) * 0.05, torch.randn(2, 3, 301, 64) * 0.05, torch.randn(2, 3, 301, 64)]


def get_init_inputs():
    return []
