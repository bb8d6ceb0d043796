# problem: transposed
# target: both
# kind: honest
# mechanism: outputs that are views of an input and of a temporary
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return (x.t() + y.t()), x[:, ::2]
