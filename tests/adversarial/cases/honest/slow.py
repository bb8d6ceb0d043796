# problem: softmax
# target: both
# kind: honest
# mechanism: right, and many times slower than the baseline
# timed: yes
# expect: correct
# speedup: 1.0
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        for row, target in zip(x, out):
            torch.softmax(row, dim=-1, out=target)
        return out
