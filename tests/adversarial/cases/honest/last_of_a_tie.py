# problem: several_largest
# target: both
# kind: honest
# mechanism: of several that are equal it takes those that come last
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, places = x.flip(-1).sort(dim=-1, descending=True, stable=True)
        return values[:, :8].contiguous(), x.shape[-1] - 1 - places[:, :8]
