# problem: network
# target: both
# kind: fault
# mechanism: dropout in evaluation mode
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.first = torch.nn.Linear(features, hidden)
        self.norm = torch.nn.BatchNorm1d(hidden)
        self.second = torch.nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        h = torch.nn.functional.gelu(self.norm(self.first(x)))
        return self.second(torch.nn.functional.dropout(h, 0.5, training=True))
