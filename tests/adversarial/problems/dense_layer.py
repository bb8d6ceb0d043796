"""One layer whose rows have nothing to do with each other."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1024, 1024)

    def forward(self, x):
        return torch.nn.functional.gelu(self.layer(x))


def get_inputs():
    return [torch.randn(256, 1024)]
