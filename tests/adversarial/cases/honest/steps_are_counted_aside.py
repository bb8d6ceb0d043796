# problem: adam
# target: both
# kind: honest
# mechanism: the powers are kept in the place of the count, and the corrections are put together
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("m", torch.zeros(n))
        self.register_buffer("v", torch.zeros(n))
        self.register_buffer("powers", torch.ones(2))

    def forward(self, g):
        self.powers *= torch.tensor([0.9, 0.99], device=g.device)
        first, second = (1 - self.powers).unbind()
        self.m.lerp_(g, 0.1)
        self.v.lerp_(g * g, 0.01)
        return -1e-3 / first * self.m / ((self.v / second).sqrt() + 1e-8)
