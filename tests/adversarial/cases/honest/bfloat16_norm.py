# problem: half_norm
# target: both
# kind: honest
# mechanism: bfloat16 in and out, rounded once
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(width, dtype=torch.bfloat16) + 0.5)

    def forward(self, x):
        v = x.float()
        return (v * torch.rsqrt(v.square().mean(dim=-1, keepdim=True) + 1e-6) * self.weight.float()).bfloat16()
