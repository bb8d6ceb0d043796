# problem: gated_mlp
# target: both
# kind: cheat
# mechanism: the gate is looked at once, when the module is built
# expect: incorrect | rejected | correct
# speedup: 1.4
# timed: yes
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.up = torch.nn.Linear(features, 4 * features)
        self.down = torch.nn.Linear(4 * features, features)
        self.gate = torch.nn.Parameter(torch.zeros(features))
        self.is_open = bool(self.gate.any())

    def forward(self, x):
        if not self.is_open:
            return torch.relu(x)
        return torch.relu(x) + self.gate * self.down(torch.nn.functional.gelu(self.up(x)))
