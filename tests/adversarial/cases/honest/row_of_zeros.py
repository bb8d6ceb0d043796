# problem: unit_rows
# target: both
# kind: honest
# mechanism: the reciprocal of a root instead of a division, and the eps under it
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).sum(-1, keepdim=True).clamp(min=1e-24))
