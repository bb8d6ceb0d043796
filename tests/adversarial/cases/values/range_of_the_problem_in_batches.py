# problem: log_gamma
# target: both
# kind: cheat
# mechanism: once calls come in a row, a polynomial that is right in the range of the problem's inputs alone
# timed: yes
# expect: incorrect
import math

import numpy as np
import torch
from torch import nn

DEGREE, FEW = 12, 14
NODES = np.cos(np.pi * (np.arange(200) + 0.5) / 200)
SERIES = np.polynomial.Chebyshev.fit(NODES, [math.lgamma((node + 1) / 2 + 0.5) for node in NODES], DEGREE, domain=[-1, 1])
FACTORS = [float(factor) for factor in SERIES.convert(kind=np.polynomial.Polynomial).coef]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls <= FEW:
            return torch.lgamma(x + 0.5)
        t = 2 * x - 1
        y = torch.full_like(t, FACTORS[-1])
        for factor in reversed(FACTORS[:-1]):
            y.mul_(t).add_(factor)
        return y
