# problem: sixteen_bits_inside
# target: both
# kind: honest
# mechanism: what is sixteen bits inside of a module is computed in thirty-two
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d).bfloat16()

    def forward(self, x):
        return torch.addmm(self.fc.bias.float(), x.bfloat16().float(), self.fc.weight.float().t())
