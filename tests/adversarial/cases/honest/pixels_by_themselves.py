# problem: pixels
# target: both
# kind: honest
# mechanism: each of the four pixels is convolved by itself, and put in its place
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4 * out, channels, 3, 3))
        self.bias = nn.Parameter(torch.randn(4 * out))

    def forward(self, x):
        out = x.new_empty(x.shape[0], len(self.bias) // 4, 2 * x.shape[2], 2 * x.shape[3])
        for pixel in range(4):
            made = nn.functional.conv2d(x, self.weight[pixel::4], self.bias[pixel::4], padding=1)
            out[:, :, pixel // 2 :: 2, pixel % 2 :: 2] = made.relu_()
        return out
