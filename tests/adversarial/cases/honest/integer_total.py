# problem: count
# target: both
# kind: honest
# mechanism: integers summed in parts
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=0).sum()
