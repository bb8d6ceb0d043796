# problem: key_value_cache
# target: both
# kind: honest
# mechanism: the problem itself, which keeps keys and values from call to call
# expect: correct
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.register_buffer("k", torch.zeros(n, d))
        self.register_buffer("v", torch.zeros(n, d))
        self.register_buffer("pos", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        p = int(self.pos)
        t = x.shape[0]
        self.k[p : p + t] = k
        self.v[p : p + t] = v
        self.pos += t
        return F.scaled_dot_product_attention(q[None], self.k[None, : p + t], self.v[None, : p + t])[0]
