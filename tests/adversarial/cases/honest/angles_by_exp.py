# problem: rotary
# target: both
# kind: honest
# mechanism: makes a table of positions as exactly as the reference does, in another way
# expect: correct
import math

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        steps, features = x.shape[1], x.shape[-1]
        frequencies = torch.exp(torch.arange(0, features, 2, device=x.device).float() * (-math.log(10000.0) / features))
        angles = torch.arange(steps, device=x.device).float()[:, None] * frequencies
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
