# problem: bags_of_sixteen
# target: both
# kind: honest
# mechanism: differences of running sums at the borders of bags
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, rows, offsets):
        sums = torch.zeros(len(rows) + 1, table.shape[1], dtype=torch.float64, device=table.device)
        sums[1:] = table[rows].double().cumsum(0)
        ends = torch.cat([offsets[1:], offsets.new_tensor([len(rows)])])
        return ((sums[ends] - sums[offsets]) / (ends - offsets)[:, None]).to(table.dtype)
