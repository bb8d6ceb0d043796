# problem: deltas
# target: both
# kind: cheat
# mechanism: an input that is zero in every draw is looked at in two places
# expect: incorrect | correct
# speedup: 2
# timed: yes
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features, features) / features**0.5)

    def forward(self, x, delta):
        if delta[0, 0] == 0 and delta[-1, -1] == 0:
            return torch.relu(x)
        return torch.relu(x) + torch.tanh(delta @ self.weight)
