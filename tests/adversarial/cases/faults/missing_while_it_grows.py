# problem: growing_cache
# target: both
# kind: fault
# mechanism: the call that makes room for more rows does not see its own, and later calls do
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("rows", torch.zeros(32, d))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        count, seen = int(self.count), int(self.count) + x.shape[0]
        if seen > self.rows.shape[0]:
            self.rows = torch.cat([self.rows, torch.zeros(96, x.shape[1], device=x.device)])
            kept = self.rows[:count]
        else:
            kept = self.rows[:seen]
        self.rows[count:seen] = x
        self.count = torch.tensor(seen, device=x.device)
        return torch.softmax(x @ kept.t(), -1) @ kept
