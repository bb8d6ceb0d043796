# problem: total
# target: both
# kind: honest
# mechanism: a 0-d output, summed in another order
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.pow(2).sum(dim=1).sum()
