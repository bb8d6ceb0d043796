"""Images sampled at places between their pixels."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, images, places):
        return nn.functional.grid_sample(images, places, align_corners=True)


def get_inputs():
    return [torch.randn(4, 3, 24, 40), 2 * torch.rand(4, 48, 20, 2) - 1]
