"""A branch that is scaled to next to nothing when the module is built."""

import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = torch.nn.LayerNorm(features)
        self.up = torch.nn.Linear(features, 2 * features)
        self.down = torch.nn.Linear(2 * features, features)
        self.scale = torch.nn.Parameter(1e-6 * torch.ones(features))

    def forward(self, x):
        return x + self.scale * self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def get_inputs():
    return [torch.randn(128, 192)]


def get_init_inputs():
    return [192]
