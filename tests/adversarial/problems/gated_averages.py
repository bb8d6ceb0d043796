"""What is left of each step decays by a gate of its own."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, gates):
        keeps, state, states = torch.sigmoid(gates), torch.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = keeps[:, step] * state + (1 - keeps[:, step]) * x[:, step]
            states.append(state)
        return torch.stack(states, 1)


def get_inputs():
    return [torch.randn(2, 320, 24), torch.randn(2, 320, 24)]
