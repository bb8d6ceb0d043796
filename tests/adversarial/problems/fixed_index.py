"""The columns of a matrix in an order that is an input, and the same in every draw."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, index):
        return torch.tanh(x.index_select(1, index))


def get_inputs():
    index = [(7 * column + 3) % 256 for column in range(256)]
    return [torch.randn(512, 256), torch.tensor(index)]


def get_init_inputs():
    return []
