# problem: steps_counted
# target: both
# kind: honest
# mechanism: state in an object of its own: a number and a list
# expect: correct
import torch
from torch import nn


class State:
    def __init__(self):
        self.power = 1.0
        self.means = []


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.columns = columns
        self.state = State()

    def forward(self, x):
        before = self.state.means[-1] if self.state.means else torch.zeros(self.columns, device=x.device)
        self.state.power *= 0.9
        self.state.means.append(torch.lerp(before, x.mean(0), 0.1))
        return x - self.state.means[-1] / (1 - self.state.power)
