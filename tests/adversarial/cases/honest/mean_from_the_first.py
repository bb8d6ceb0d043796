# problem: mean_from_the_first
# target: both
# kind: honest
# mechanism: the problem itself, whose state begins with the first call
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", None)

    def forward(self, x):
        self.h = x.mean(0) if self.h is None else 0.9 * self.h + 0.1 * x.mean(0)
        return x - self.h
