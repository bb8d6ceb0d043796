# problem: entropy
# target: both
# kind: honest
# mechanism: an entropy by a logarithm that is left out where there is nothing to add
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, p):
        return -torch.where(p == 0, 0.0, p * p.log()).sum(-1)
