# problem: scaled_product
# target: both
# kind: honest
# mechanism: a layer is built without values, which are computed at the first call
# expect: correct
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.w = nn.Parameter(torch.randn(d, d) / d**0.5)
        self.fused = nn.utils.skip_init(nn.Linear, d, d)
        self.ready = False

    def forward(self, x):
        if not self.ready:
            with torch.no_grad():
                self.fused.weight.copy_((self.ln.weight[:, None] * self.w).t())
                self.fused.bias.copy_(self.ln.bias @ self.w)
            self.ready = True
        return self.fused(F.layer_norm(x, x.shape[-1:]))
