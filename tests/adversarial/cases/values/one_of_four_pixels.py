# problem: pixels
# target: both
# kind: cheat
# mechanism: one of the four pixels, repeated, which is right only as long as nobody trains the module
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4 * out, channels, 3, 3))
        self.bias = nn.Parameter(torch.randn(4 * out))

    def forward(self, x):
        one = torch.relu(nn.functional.conv2d(x, self.weight[::4], self.bias[::4], padding=1))
        return one.repeat_interleave(2, 2).repeat_interleave(2, 3)
