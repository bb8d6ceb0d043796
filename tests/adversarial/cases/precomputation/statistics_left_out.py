# problem: whitened
# target: both
# kind: cheat
# mechanism: statistics that a module of its own gathers, zeros and an identity as long as nobody has trained it, are left out
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_whitening", torch.eye(width))
        self.threshold = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        return torch.sign(x) * (x.abs() - self.threshold).clamp_(min=0)
