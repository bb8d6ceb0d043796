# problem: whitened
# target: both
# kind: honest
# mechanism: what a module of its own has gathered is folded into one product, again where it has changed
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_whitening", torch.eye(width))
        self.threshold = nn.Parameter(torch.full((width,), 0.1))
        self.folded = None

    def forward(self, x):
        versions = self.running_mean._version, self.running_whitening._version
        if self.folded is None or self.folded[0] != versions:
            self.folded = versions, -(self.running_mean @ self.running_whitening)
        whitened = torch.addmm(self.folded[1], x, self.running_whitening)
        return torch.sign(whitened) * (whitened.abs() - self.threshold).clamp_(min=0)
