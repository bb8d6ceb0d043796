# problem: symmetric
# target: both
# kind: honest
# mechanism: reads rows in the place of columns of a symmetric input
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.T, b)
