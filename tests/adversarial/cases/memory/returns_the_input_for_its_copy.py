# problem: first_row_and_a_copy
# target: both
# kind: cheat
# mechanism: returns an input where the problem returns a copy of it, beside an output that may be a view
# timed: yes
# expect: rejected
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x[:1], x, x.sum(0)
