"""Layers with random weights, running statistics and dropout (a candidate is evaluated in eval mode)."""

import torch


class Model(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.first = torch.nn.Linear(features, hidden)
        self.norm = torch.nn.BatchNorm1d(hidden)
        self.drop = torch.nn.Dropout(0.5)
        self.second = torch.nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        return self.second(self.drop(torch.nn.functional.gelu(self.norm(self.first(x)))))


def get_inputs():
    return [torch.randn(96, 64)]


def get_init_inputs():
    return [64, 160]
