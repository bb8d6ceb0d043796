# problem: box_filter
# target: both
# kind: honest
# mechanism: a constant of the module, which no training changes, is known
# expect: correct
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, c):
        super().__init__()

    def forward(self, x):
        return F.avg_pool2d(x, 3, 1, 1)
