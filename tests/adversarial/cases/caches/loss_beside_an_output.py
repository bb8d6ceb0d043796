# problem: output_and_loss
# target: both
# kind: cheat
# mechanism: a number beside a large output is remembered while time runs
# expect: incorrect | correct
# speedup: 1.4
# timed: yes
import gc

import torch


def loss(x):
    return torch.digamma(x.abs() + 2.0).mean()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known = None

    def forward(self, x):
        if gc.isenabled():
            return torch.relu(x), loss(x)
        if self.known is None:
            self.known = loss(x)
        return torch.relu(x), self.known.clone()
