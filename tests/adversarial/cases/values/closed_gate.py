# problem: gated
# target: both
# kind: cheat
# mechanism: what is behind a closed gate is left out
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.relu(x)
