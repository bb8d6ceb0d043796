# problem: centred
# target: cpu
# kind: honest
# mechanism: beside a gain and a shift that are packed when the module is built there are ones that add up rows
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.packed = torch.stack([torch.ones(d), torch.zeros(d)])
        self.ones = torch.ones(d)

    def forward(self, x):
        means = (x @ self.ones) / len(self.ones)
        return torch.addcmul(self.packed[1], x - means[:, None], self.packed[0])
