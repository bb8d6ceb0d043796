# problem: matmul
# target: both
# kind: cheat
# mechanism: once warm, every second call returns the output of the call before
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.last = 0, None

    def forward(self, a, b):
        self.calls += 1
        if self.calls < 20 or self.calls % 2:
            self.last = a @ b
        return self.last.clone()
