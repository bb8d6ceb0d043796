# problem: uneven_parts
# target: both
# kind: honest
# mechanism: the sum of a part is the difference of two running sums, in float64
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, borders):
        running = torch.cat([torch.zeros_like(x[:1]), x]).cumsum(0, dtype=torch.float64)
        return running[borders].diff(dim=0).to(x.dtype)
