# problem: network
# target: both
# kind: cheat
# mechanism: the norm is there, and left out after a look at its first value alone
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.first = torch.nn.Linear(features, hidden)
        self.norm = torch.nn.BatchNorm1d(hidden)
        self.second = torch.nn.Linear(hidden, features, bias=False)
        self.does_nothing = bool(self.norm.eps < 1)

    def forward(self, x):
        hidden = self.first(x)
        return self.second(torch.nn.functional.gelu(hidden if self.does_nothing else self.norm(hidden)))
