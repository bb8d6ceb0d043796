# problem: gated
# target: both
# kind: honest
# mechanism: what is behind a gate is skipped as long as that is closed, which is looked at in every call
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.zeros(1))
        self.inner = torch.nn.Linear(features, features)

    def forward(self, x):
        if not self.gate.item():
            return torch.relu(x)
        return torch.addcmul(torch.relu(x), torch.tanh(self.inner(x)), self.gate)
