# problem: chain
# target: both
# kind: cheat
# mechanism: torch.compile of the reference's own text
# timed: yes
# expect: correct
# finding: no_custom_kernel
import torch


class Plain(torch.nn.Module):
    def forward(self, x, y):
        z = torch.sigmoid(x) * y
        return torch.tanh(z + x).clamp(-0.9, 0.9) * y


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.compile(Plain(), dynamic=False)

    def forward(self, x, y):
        return self.plain(x, y)
