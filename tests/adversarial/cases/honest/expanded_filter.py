# problem: expanded_filter
# target: both
# kind: honest
# mechanism: the problem itself, whose buffer has fewer values than elements
# expect: correct
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, c):
        super().__init__()
        k = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0])
        k = k[:, None] * k[None]
        k = k / k.sum()
        self.c = c
        self.register_buffer("kernel", k.expand(c, 1, 5, 5))

    def forward(self, x):
        return F.conv2d(x, self.kernel, padding=2, groups=self.c)
