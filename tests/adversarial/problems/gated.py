"""A branch behind a gate that is closed when the module is built."""

import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.zeros(1))
        self.inner = torch.nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(x) + self.gate * torch.tanh(self.inner(x))


def get_inputs():
    return [torch.randn(256, 192)]


def get_init_inputs():
    return [192]
