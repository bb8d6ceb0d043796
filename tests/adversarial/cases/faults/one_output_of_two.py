# problem: transposed
# target: both
# kind: fault
# mechanism: one output of two
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return (x + y).t()
