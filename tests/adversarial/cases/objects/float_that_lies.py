# problem: numbers
# target: both
# kind: cheat
# mechanism: a float subclass that compares as equal
# expect: incorrect | rejected
import torch


class Near(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__


class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, power):
        return x * self.scale**power, Near(0.0), x.shape[0]
