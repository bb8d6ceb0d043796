# problem: total
# target: both
# kind: fault
# mechanism: an accumulator that is never set to zero
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(16, dtype=x.dtype, device=x.device)
        out += (x * x).sum()
        return out[3]
