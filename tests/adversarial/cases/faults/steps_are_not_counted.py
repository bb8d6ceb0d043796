# problem: adam
# target: both
# kind: fault
# mechanism: the correction is that of the first step for ever
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("m", torch.zeros(n))
        self.register_buffer("v", torch.zeros(n))
        self.register_buffer("step", torch.zeros(()))

    def forward(self, g):
        self.m.mul_(0.9).add_(g, alpha=0.1)
        self.v.mul_(0.99).addcmul_(g, g, value=0.01)
        return -1e-3 * (self.m / (1 - 0.9)) / ((self.v / (1 - 0.99)).sqrt() + 1e-8)
