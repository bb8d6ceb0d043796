# problem: difference_to_the_last
# target: both
# kind: honest
# mechanism: the problem itself, whose state is the memory of an input
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.register_buffer("prev", torch.zeros(n, d))

    def forward(self, x):
        out = x - self.prev
        self.prev = x
        return out
