"""Attention over a chunk whose sizes come in a configuration, and whose lengths in a named tuple."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import nn


@dataclass
class Config:
    width: int = 128
    heads: int = 4

    @property
    def size(self):
        return self.width // self.heads


class Batch(NamedTuple):
    x: torch.Tensor
    keep: torch.Tensor


class Model(nn.Module):
    def __init__(self, config, options):
        super().__init__()
        assert isinstance(config, Config)
        self.config, self.scale = config, options.scale
        self.project = nn.Linear(config.width, 3 * config.width)

    def forward(self, batch):
        q, k, v = self.project(batch.x).unflatten(-1, (3, self.config.heads, self.config.size)).permute(2, 0, 3, 1, 4)
        logits = (q @ k.transpose(-1, -2)) * self.scale
        logits = logits.masked_fill(~batch.keep[:, None, None, :], float("-inf"))
        return SimpleNamespace(output=(torch.softmax(logits, dim=-1) @ v).transpose(1, 2).flatten(2), kept=batch.keep.sum(1))


def get_inputs():
    return [Batch(torch.randn(4, 64, 128), torch.rand(4, 64) > 0.2)]


def get_init_inputs():
    return [Config(), SimpleNamespace(scale=0.2)]
