"""A costly branch behind a gate that is closed when the module is built."""

import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.up = torch.nn.Linear(features, 4 * features)
        self.down = torch.nn.Linear(4 * features, features)
        self.gate = torch.nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return torch.relu(x) + self.gate * self.down(torch.nn.functional.gelu(self.up(x)))


def get_inputs():
    return [torch.randn(512, 384)]


def get_init_inputs():
    return [384]
