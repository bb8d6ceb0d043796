"""A moving average whose state is replaced in a dict of the caller's."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, state):
        state["mean"] = state["mean"] * 0.9 + x * 0.1
        state["calls"] += 1
        return state["mean"] / (1 - 0.9 ** state["calls"])


def get_inputs():
    return [torch.randn(64, 48), {"mean": torch.randn(64, 48), "calls": torch.tensor(3)}]


def get_init_inputs():
    return []
