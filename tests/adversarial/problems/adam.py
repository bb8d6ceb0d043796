"""Adam with its state in buffers: the update for a gradient."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("m", torch.zeros(n))
        self.register_buffer("v", torch.zeros(n))
        self.register_buffer("step", torch.zeros(()))

    def forward(self, g):
        self.step += 1
        self.m.mul_(0.9).add_(g, alpha=0.1)
        self.v.mul_(0.99).addcmul_(g, g, value=0.01)
        return -1e-3 * (self.m / (1 - 0.9**self.step)) / ((self.v / (1 - 0.99**self.step)).sqrt() + 1e-8)


def get_inputs():
    return [torch.randn(2011)]


def get_init_inputs():
    return [2011]
