# problem: quantised
# target: both
# kind: honest
# mechanism: values are rounded after a product with the reciprocal of the step
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.round(x * 100.0).mul_(0.01)
