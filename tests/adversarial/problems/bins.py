"""Bins between the least and the largest element: how long adding to them takes depends on how elements are spread among them."""

import torch


class Model(torch.nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x):
        low, high = x.min(), x.max()
        place = ((x - low) / (high - low) * self.bins).floor().clamp(0, self.bins - 1).long()
        count = torch.bincount(place, minlength=self.bins)
        total = torch.zeros(self.bins, device=x.device).index_add(0, place, x)
        return place, count, total / count.clamp(min=1)


def get_inputs():
    return [torch.rand(100_000)]


def get_init_inputs():
    return [64]
