# problem: diagonal
# target: both
# kind: honest
# mechanism: an algebraic rewrite: rows are scaled in place of a product with a diagonal matrix
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a.unsqueeze(-1) * b
