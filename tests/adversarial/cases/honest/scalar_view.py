# problem: total
# target: both
# kind: honest
# mechanism: a 0-d output that is a view into a larger buffer
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros(64, device=x.device)
        out[7] = (x * x).sum()
        return out[7]
