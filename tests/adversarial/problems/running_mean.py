"""A module whose outputs depend on the calls before: it keeps a running mean of what it has seen."""

import torch


class Model(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.register_buffer("seen", torch.zeros(columns))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        self.seen.mul_(0.75).add_(x.mean(dim=0), alpha=0.25)
        return torch.relu(x - self.seen) * self.calls


def get_inputs():
    return [torch.randn(128, 192)]


def get_init_inputs():
    return [192]
