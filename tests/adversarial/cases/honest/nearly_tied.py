# problem: nearest
# target: both
# kind: honest
# mechanism: an index between two values that only rounding orders, summed in another order than torch's
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        even, odd = x[:, 0::2].sum(dim=-1), x[:, 1::2].sum(dim=-1)
        return (even + odd).argmax()
