# problem: running_mean_returned
# target: both
# kind: cheat
# mechanism: zeros in the place of a mean that begins with zeros
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("h", torch.zeros(d))

    def forward(self, x):
        return torch.zeros_like(self.h)
