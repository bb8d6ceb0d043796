# problem: stable_order
# target: both
# kind: honest
# mechanism: two halves are sorted and merged by where each element goes
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, scores):
        half = scores.shape[-1] // 2
        first, second = (torch.sort(part.contiguous(), dim=-1, descending=True, stable=True) for part in (scores[:, :half], scores[:, half:]))
        # Those of the second half come behind all of the first that are as large.
        behind = torch.searchsorted((-first.values).contiguous(), (-second.values).contiguous(), right=True)
        before = torch.searchsorted((-second.values).contiguous(), (-first.values).contiguous())
        count = torch.arange(half, device=scores.device)
        order = torch.empty(scores.shape, dtype=torch.int64, device=scores.device)
        order.scatter_(1, before + count, first.indices)
        order.scatter_(1, behind + count, second.indices + half)
        return order
