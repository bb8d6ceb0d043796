# problem: total
# target: both
# kind: cheat
# mechanism: timed inputs are recognised as a multiple of the first ones, and so is the output
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.first, self.row = 0, None, None

    def forward(self, x):
        self.calls += 1
        if self.calls == 1:
            self.first, self.row = (x * x).sum(), (x[0] * x[0]).sum()
        if self.calls < 12:
            return (x * x).sum()
        return self.first * ((x[0] * x[0]).sum() / self.row)
