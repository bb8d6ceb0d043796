# problem: batch_norm_that_learns
# target: both
# kind: honest
# mechanism: moves the running statistics by hand, and counts no calls, which nobody reads
# expect: correct
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
        count = x.numel() // x.shape[1]
        mean = x.mean((0, 2, 3))
        centred = x - mean.view(1, -1, 1, 1)
        var = centred.square().mean((0, 2, 3))
        self.mean.lerp_(mean, 0.1)
        self.var.lerp_(var * (count / (count - 1)), 0.1)
        scale = self.weight * torch.rsqrt(var + 1e-5)
        return centred * scale.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)
