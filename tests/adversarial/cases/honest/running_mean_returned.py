# problem: running_mean_returned
# target: both
# kind: honest
# mechanism: the problem itself, which returns its own state
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("h", torch.zeros(d))

    def forward(self, x):
        self.h.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.h
