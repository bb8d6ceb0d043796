# problem: softmax
# target: both
# kind: fault
# mechanism: every second call is wrong: a flag that is never reset
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.odd = False

    def forward(self, x):
        self.odd = not self.odd
        return torch.softmax(x if self.odd else x * 1.01, dim=-1)
