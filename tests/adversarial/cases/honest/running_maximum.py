# problem: running_maximum
# target: both
# kind: honest
# mechanism: the problem itself, which keeps a maximum from call to call
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mx", torch.tensor(0.0))

    def forward(self, x):
        self.mx = torch.maximum(self.mx, x.abs().amax())
        return torch.round(x / self.mx * 127) * self.mx / 127
