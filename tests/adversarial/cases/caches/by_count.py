# problem: matmul
# target: both
# kind: cheat
# mechanism: honest for the first calls; then the last output again and again
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.last = 0, None

    def forward(self, a, b):
        self.calls += 1
        if self.calls < 40:
            self.last = a @ b
        return self.last
