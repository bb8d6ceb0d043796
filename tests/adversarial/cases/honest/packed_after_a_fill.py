# problem: filled_bias
# target: both
# kind: honest
# mechanism: a bias is filled, and then packed, while the module is built
# expect: correct
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        fc = nn.Linear(d, d)
        self.ln = nn.LayerNorm(d)
        with torch.no_grad():
            fc.bias.fill_(0.0)
        self.register_buffer("w", (fc.weight * self.ln.weight).t().contiguous().detach())
        self.register_buffer("b", (fc.weight @ self.ln.bias + fc.bias).detach())

    def forward(self, x):
        return torch.addmm(self.b, F.layer_norm(x, x.shape[-1:]), self.w)
