# problem: rows_in_order
# target: both
# kind: fault
# mechanism: a number's place is how many are smaller, so that equal ones all go to the same place
# expect: incorrect
# why: among numbers that are drawn at random hardly any are equal
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        smaller = (x[:, None] < x[:, :, None]).sum(-1)
        return torch.zeros_like(x).scatter_(1, smaller, x)
