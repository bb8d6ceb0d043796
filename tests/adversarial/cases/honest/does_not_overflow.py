# problem: overflowing
# target: both
# kind: honest
# mechanism: finite where the reference overflows
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0) + torch.log1p(torch.exp(-x.abs())), torch.sigmoid(x)
