# problem: above
# target: both
# kind: honest
# mechanism: a comparison with a mean that is rounded otherwise
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        total = x.sum(dim=-1, keepdim=True)
        return x * x.shape[-1] > total
