import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_whitening", torch.eye(width))
        self.threshold = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        whitened = (x - self.running_mean) @ self.running_whitening
        return torch.sign(whitened) * (whitened.abs() - self.threshold).clamp(min=0)


def get_inputs():
    return [torch.randn(2048, 128)]


def get_init_inputs():
    return [128]
