# problem: numbers
# target: both
# kind: honest
# mechanism: Python numbers beside a tensor, in a list
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, power):
        y = x * self.scale**power
        return [y, float(torch.linalg.vector_norm(y, ord=float("inf"))), len(y)]
