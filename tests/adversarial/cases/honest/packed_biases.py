# problem: forget_bias
# target: cpu
# kind: honest
# mechanism: biases that begin as the same zeros are packed while the module is built
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.b1 = nn.Parameter(torch.zeros(d))
        self.b2 = nn.Parameter(torch.zeros(d))
        with torch.no_grad():
            self.b1[: d // 2] = 1.0
        self.p = torch.stack([self.b1, self.b2]).detach()

    def forward(self, x):
        return torch.sigmoid(x + self.p[0]) * (x + self.p[1])
