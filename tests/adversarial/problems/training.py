"""A training step: a linear layer with tanh, and the gradients of its input and parameters."""

import torch

backward = True


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(96, 48)

    def forward(self, x):
        return torch.tanh(self.linear(x))


def get_inputs():
    return [torch.randn(128, 96)]
