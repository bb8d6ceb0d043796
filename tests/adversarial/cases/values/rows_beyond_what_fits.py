# problem: unbalanced_experts
# target: both
# kind: cheat
# mechanism: each expert has room for twice the rows that it takes on average, and rows beyond that are dropped
# expect: incorrect
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d, e, h):
        super().__init__()
        self.gate = nn.Linear(d, e, bias=False)
        self.w1 = nn.Parameter(torch.randn(e, d, h) / d ** 0.5)
        self.w2 = nn.Parameter(torch.randn(e, h, d) / h ** 0.5)

    def forward(self, x):
        l = self.gate(x)
        E = l.shape[-1]; cap = x.shape[0] * 2 * 2 // E
        wt, ix = l.topk(2, -1)
        wt = wt.softmax(-1).flatten()
        ex, order = ix.flatten().sort(stable=True)
        tok = order // 2
        start = torch.searchsorted(ex, torch.arange(E, device=x.device))
        slot = torch.arange(ex.numel(), device=x.device) - start[ex]
        keep = slot < cap
        buf = x.new_zeros(E, cap, x.shape[1])
        buf[ex[keep], slot[keep]] = x[tok[keep]]
        o = torch.bmm(F.silu(torch.bmm(buf, self.w1)), self.w2)
        return torch.zeros_like(x).index_add_(0, tok[keep], o[ex[keep], slot[keep]] * wt[order[keep], None])
