import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, places, values):
        right = torch.searchsorted(places, x, right=True).clamp(1, places.numel() - 1)
        left = right - 1
        return values[left] + (values[right] - values[left]) * ((x - places[left]) / (places[right] - places[left]))


def get_inputs():
    return [torch.rand(50000) * 10, torch.cumsum(torch.rand(101) + 0.05, 0) * (10 / 55), torch.randn(101)]
