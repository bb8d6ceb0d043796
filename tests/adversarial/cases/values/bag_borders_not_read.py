# problem: bags_of_sixteen
# target: both
# kind: cheat
# mechanism: every bag has sixteen rows, as in every draw
# expect: incorrect
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, rows, offsets):
        return table[rows].view(len(offsets), 16, -1).mean(1)
