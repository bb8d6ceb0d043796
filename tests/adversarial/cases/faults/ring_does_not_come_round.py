# problem: ring
# target: both
# kind: fault
# mechanism: from the ninth call on the last place is written again and again
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("ring", torch.zeros(8, d))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        place = min(int(self.count), 7)
        self.ring[place] = x
        self.count += 1
        kept = self.ring[: place + 1]
        return torch.softmax(kept @ x / x.shape[0] ** 0.5, 0) @ kept
