# problem: boundaries
# target: both
# kind: honest
# mechanism: counts the boundaries that a value is not below, which is its index as long as they are in order
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, boundaries):
        return (~(x.unsqueeze(-1) <= boundaries)).sum(-1)
