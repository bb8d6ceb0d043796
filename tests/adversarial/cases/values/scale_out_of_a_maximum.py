# problem: scaled_maximum
# target: both
# kind: fault
# mechanism: takes the largest value before it is scaled, which is the smallest one's place where a scale is negative
# expect: incorrect
# why: scales are one when the module is built, and positive in any state near that
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(96, 1))
        self.shift = torch.nn.Parameter(torch.zeros(96, 1))

    def forward(self, x):
        return x.amax(-1) * self.scale[:, 0] + self.shift[:, 0]
