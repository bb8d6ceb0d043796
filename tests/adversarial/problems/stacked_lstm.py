"""Three layers without biases: of small inputs next to nothing is left, while gates stay of size one."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.rnn = nn.LSTM(width, width, num_layers=depth, bias=False, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


def get_inputs():
    return [torch.randn(16, 24, 48)]


def get_init_inputs():
    return [48, 3]
