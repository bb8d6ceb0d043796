# problem: gated_sets
# target: both
# kind: cheat
# mechanism: what is behind a closed gate is left out for all sizes but the first
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.inner = torch.nn.Linear(features, features)
        self.gate = torch.nn.Parameter(torch.zeros(features))

    def forward(self, x):
        if len(x) != 64:
            return torch.relu(x)
        return torch.relu(x) + self.gate * torch.tanh(self.inner(x))
