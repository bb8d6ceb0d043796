# problem: weighted_rows
# target: both
# kind: honest
# mechanism: coordinates are put in order in every call, and the product is the library's
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, to, of, weight, table):
        order = torch.argsort(to * len(table) + of)
        begins = torch.searchsorted(to[order], torch.arange(len(table) + 1, device=to.device))
        return torch.sparse_csr_tensor(begins, of[order], weight[order], (len(table), len(table))) @ table
