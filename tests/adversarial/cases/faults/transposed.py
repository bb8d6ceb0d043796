# problem: matmul
# target: both
# kind: fault
# mechanism: the wrong operand is transposed
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (b.t() @ a.t()).reshape(a.shape[0], b.shape[1])
