# problem: unit_columns
# target: both
# kind: honest
# mechanism: columns are multiplied by the root of the reciprocal of their squares, which are kept from zero
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * x.square().sum(0).clamp(min=1e-24).rsqrt()
