# problem: room_for_eight
# target: both
# kind: honest
# mechanism: scores by a product with all of the cache, of which the rest is left out; neither side has room for a ninth call
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("cache", torch.zeros(8, d))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.cache[int(self.count)] = x
        self.count += 1
        scores = (self.cache * x).sum(1) / x.shape[0] ** 0.5
        scores[int(self.count) :] = float("-inf")
        return torch.softmax(scores, 0) @ self.cache
