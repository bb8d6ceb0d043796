# problem: unit_columns
# target: both
# kind: fault
# mechanism: nothing is done about columns of zeros, whose length is zero
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x / torch.linalg.vector_norm(x, dim=0)
