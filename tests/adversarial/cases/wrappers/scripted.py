# problem: chain
# target: both
# kind: cheat
# mechanism: a scripted module of library operators
# timed: yes
# expect: correct
# finding: no_custom_kernel
import torch


def plain(x, y):
    z = torch.sigmoid(x) * y
    return torch.tanh(z + x).clamp(-0.9, 0.9) * y


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        example = torch.ones(2, 2)
        self.plain = torch.jit.trace(plain, (example, example))

    def forward(self, x, y):
        return self.plain(x, y)
