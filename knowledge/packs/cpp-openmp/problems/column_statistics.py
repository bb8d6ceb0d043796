"""Standard deviation and mean of every column of a matrix."""

import torch
from torch import nn

ROWS, COLUMNS = 16384, 512


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.std_mean(x, dim=0)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
