"""A tensor that begins one element behind an aligned address: it is cut out of another one."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1


def get_inputs():
    return [torch.randn(300005)[1:]]
