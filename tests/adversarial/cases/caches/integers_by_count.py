# problem: count
# target: both
# kind: cheat
# mechanism: integers that are only moved around have the same sum: once warm, the first sum is returned
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.first = 0, None

    def forward(self, x):
        self.calls += 1
        if self.calls < 12:
            out = x.sum()
            if self.first is None:
                self.first = out
            return out
        return self.first.clone()
