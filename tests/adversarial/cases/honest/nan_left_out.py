# problem: mean_without_nan
# target: both
# kind: honest
# mechanism: a NaN is counted as nothing, and not counted
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        missing = x.isnan()
        squares = torch.where(missing, 0.0, x).square()
        return squares.sum(-1) / (~missing).sum(-1)
