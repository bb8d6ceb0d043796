# problem: stable_order
# target: both
# kind: fault
# mechanism: sorted upwards and turned round, equal ones with the rest
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, scores):
        return torch.argsort(scores, dim=-1, stable=True).flip(-1)
