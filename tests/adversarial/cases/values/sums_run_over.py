# problem: running_count
# target: both
# kind: fault
# mechanism: sums of 32 bits, which suffice for the numbers that the problem draws
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x, -1, dtype=torch.int32).long()
