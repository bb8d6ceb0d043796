"""The two layers of a vision transformer's block, whose biases begin next to nothing."""
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1 = nn.Linear(d, 4 * d)
        self.fc2 = nn.Linear(4 * d, d)
        for layer in (self.fc1, self.fc2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(x)))


def get_inputs():
    return [torch.randn(4, 50, 64)]


def get_init_inputs():
    return [64]
