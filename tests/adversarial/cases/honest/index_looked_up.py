# problem: fixed_index
# target: both
# kind: honest
# mechanism: columns are gathered by an index that is the same in every draw, and read every time
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, index):
        return torch.tanh(torch.gather(x, 1, index.expand(x.shape[0], -1)))
