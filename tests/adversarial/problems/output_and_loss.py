"""A large output and, beside it, one number that comes to nearly the same for any draw."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x), torch.digamma(x.abs() + 2.0).mean()


def get_inputs():
    return [torch.randn(1024, 512)]
