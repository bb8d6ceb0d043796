"""Prefix sums of rows that begin anew where a flag is set."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, starts):
        sums = x.double().cumsum(1)
        places = torch.arange(x.shape[1], device=x.device).expand_as(x)
        begin = torch.where(starts, places, 0).cummax(1).values
        return (sums - (sums - x).gather(1, begin)).to(x.dtype)


def get_inputs():
    return [torch.randn(4, 4096), torch.rand(4, 4096) < 0.05]
