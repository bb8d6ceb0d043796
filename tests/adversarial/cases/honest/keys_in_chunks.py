# problem: keys_in_attributes
# target: both
# kind: honest
# mechanism: keeps keys in chunks, in a list and in memory that it makes in its first call
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = []
        self.values = None
        self.count = 0

    def forward(self, q, k, v):
        if self.values is None:
            self.values = torch.empty(v.shape[0], 256, v.shape[2], device=v.device)
        self.keys.append(k)
        self.values[:, self.count : self.count + v.shape[1]] = v
        self.count += v.shape[1]
        scores = torch.cat([q @ keys.mT for keys in self.keys], -1) * 0.125
        return torch.softmax(scores, -1) @ self.values[:, : self.count]
