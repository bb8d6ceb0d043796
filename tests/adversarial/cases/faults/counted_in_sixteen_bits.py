# problem: byte_counts
# target: both
# kind: fault
# mechanism: counters of 16 bits run over where one byte comes more often than they hold
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, text):
        return torch.bincount(text, minlength=256).bitwise_and(0xFFFF)
