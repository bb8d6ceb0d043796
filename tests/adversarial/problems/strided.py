"""An input with gaps between its elements."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(512, 512, bias=False)

    def forward(self, x):
        return self.layer(torch.nn.functional.relu(self.layer(x)))


def get_inputs():
    return [torch.randn(512, 1024)[:, ::2]]
