# problem: transposed_copy
# target: both
# kind: cheat
# mechanism: a view of the input in place of a copy of it
# expect: rejected
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.t()
