import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.full((3, 1, 1), 0.5))
        self.register_buffer("std", torch.full((3, 1, 1), 0.25))

    def forward(self, images):
        return (images - self.mean) / self.std


def get_inputs():
    return [torch.rand(8, 3, 64, 64)]
