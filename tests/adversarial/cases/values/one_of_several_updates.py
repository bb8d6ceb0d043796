# problem: sparse_update
# target: both
# kind: fault
# mechanism: of several updates of a row only one arrives, as in a kernel without atomics
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, table, rows, updates):
        out = table.clone()
        out[rows] += updates
        return out
