# problem: moving_average_in_a_dict
# target: both
# kind: honest
# mechanism: as the problem does, puts a new tensor into a dict of the caller's
# timed: yes
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, state):
        state["mean"] = torch.lerp(state["mean"], x, 0.1)
        state["calls"] += 1
        return state["mean"] / (1 - 0.9 ** state["calls"])
