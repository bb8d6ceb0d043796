# problem: ring
# target: both
# kind: honest
# mechanism: the last tokens are kept in their order, and moved up by one
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("ring", torch.zeros(8, d))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.ring.copy_(torch.cat([self.ring[1:], x[None]]))
        self.count += 1
        kept = self.ring[8 - min(int(self.count), 8) :]
        return torch.softmax((kept * x).sum(1) / x.shape[0] ** 0.5, 0) @ kept
