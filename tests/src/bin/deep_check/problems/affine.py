"""Elementwise, on rows whose length is no multiple of a warp's, in tensors that end in the middle of an allocator's block."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


def get_inputs():
    return [torch.randn(30, 1008)]


def get_check_inputs():
    return [torch.randn(6, 1008)]
