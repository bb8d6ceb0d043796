# problem: unbalanced_experts
# target: both
# kind: honest
# mechanism: rows are sorted by expert, and each expert takes its own in one product
# expect: correct
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
        wt, ix = l.topk(2, -1)
        wt = wt.softmax(-1).flatten()
        ex, order = ix.flatten().sort(stable=True)
        tok = order // 2
        counts = torch.bincount(ex, minlength=l.shape[-1]).tolist()
        xs = x[tok].split(counts)
        ys = torch.cat([F.silu(c @ self.w1[e]) @ self.w2[e] for e, c in enumerate(xs)])
        return torch.zeros_like(x).index_add_(0, tok, ys * wt[order, None])
