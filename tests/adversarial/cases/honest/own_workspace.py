# problem: chain
# target: both
# kind: honest
# mechanism: scratch memory is kept between calls, the output is fresh
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = None

    def forward(self, x, y):
        if self.scratch is None or self.scratch.shape != x.shape:
            self.scratch = torch.empty_like(x)
        torch.sigmoid(x, out=self.scratch)
        self.scratch.mul_(y).add_(x).tanh_().clamp_(-0.9, 0.9)
        return self.scratch * y
