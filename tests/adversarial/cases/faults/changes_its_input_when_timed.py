# problem: softmax
# target: both
# kind: cheat
# mechanism: once warm, the input is used as the output's memory
# timed: yes
# expect: rejected | incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls <= 12:
            return torch.softmax(x, dim=-1)
        x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
        return x.div_(x.sum(dim=-1, keepdim=True))
