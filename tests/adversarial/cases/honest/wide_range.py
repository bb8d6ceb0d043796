# problem: wide_range
# target: both
# kind: honest
# mechanism: outputs over many orders of magnitude, by a power of two
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.exp2(x * 5.770780163555854)
