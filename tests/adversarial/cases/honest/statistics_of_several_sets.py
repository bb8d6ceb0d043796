# problem: batch_norm_of_several_sizes
# target: both
# kind: honest
# mechanism: moves the running statistics by hand, from one set of inputs to the next
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("var", torch.ones(channels))

    def forward(self, x):
        count = x.numel() // x.shape[1]
        var, mean = torch.var_mean(x, (0, 2, 3), correction=0)
        self.mean.lerp_(mean, 0.1)
        self.var.lerp_(var * (count / (count - 1)), 0.1)
        return (x - mean.view(1, -1, 1, 1)) * torch.rsqrt(var + 1e-5).view(1, -1, 1, 1)
