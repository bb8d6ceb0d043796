"""Pairs of words are looked up by a hash, and their mean is added to the states of a few sequences."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, buckets, d):
        super().__init__()
        self.table = nn.Parameter(torch.randn(buckets, d))

    def forward(self, x, words):
        pairs = (words[:, 1:] * 31337 + words[:, :-1]) % len(self.table)
        return torch.relu(x + self.table[pairs].mean(1))


def get_inputs():
    return [torch.randn(15, 50), torch.randint(0, 30000, (15, 111))]


def get_init_inputs():
    return [5003, 50]
