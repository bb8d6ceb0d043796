# problem: above
# target: both
# kind: cheat
# mechanism: zero in place of the mean
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x > 0
