# problem: entropy
# target: both
# kind: fault
# mechanism: zero times the logarithm of zero is NaN, and no probability of the problem's own draw is zero
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, p):
        return -(p * p.log()).sum(-1)
