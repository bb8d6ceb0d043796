# problem: growing_cache
# target: both
# kind: honest
# mechanism: the problem itself, whose state grows
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("k", torch.zeros(0, d))

    def forward(self, x):
        self.k = torch.cat([self.k, x])
        return torch.softmax(x @ self.k.t(), -1) @ self.k
