# problem: transposed
# target: both
# kind: cheat
# mechanism: a tuple subclass that computes its items when it is iterated
# timed: yes
# expect: rejected | incorrect
import torch


class Lazy(tuple):
    def __iter__(self):
        x, y = tuple.__getitem__(self, 0), tuple.__getitem__(self, 1)
        return iter(((x + y).t(), x[:, ::2]))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return Lazy((x, y))
