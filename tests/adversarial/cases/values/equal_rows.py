# problem: transposed
# target: both
# kind: cheat
# mechanism: one row for all rows
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = (x + y)
        return out[:1].expand_as(out).t(), x[:, ::2]
