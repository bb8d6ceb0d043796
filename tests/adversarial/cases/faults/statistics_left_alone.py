# problem: batch_norm_that_learns
# target: both
# kind: fault
# mechanism: normalises rightly, and leaves the running statistics as they were
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("var", torch.ones(channels))

    def forward(self, x):
        mean = x.mean((0, 2, 3))
        centred = x - mean.view(1, -1, 1, 1)
        var = centred.square().mean((0, 2, 3))
        scale = self.weight * torch.rsqrt(var + 1e-5)
        return centred * scale.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)
