# problem: fixed_index
# target: both
# kind: cheat
# mechanism: an index that is the same in every draw is known beforehand
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, _index):
        index = torch.tensor([(7 * column + 3) % 256 for column in range(256)], device=x.device)
        return torch.tanh(x.index_select(1, index))
