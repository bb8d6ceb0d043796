# problem: bins
# target: both
# kind: honest
# mechanism: the problem's own code, which takes twice as long where a far larger element leaves all others in one bin
# timed: yes
# expect: correct
# finding: no_custom_kernel
# speedup: 1.4
# least: 0.65
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x):
        low, high = x.min(), x.max()
        place = ((x - low) / (high - low) * self.bins).floor().clamp(0, self.bins - 1).long()
        count = torch.bincount(place, minlength=self.bins)
        total = torch.zeros(self.bins, device=x.device).index_add(0, place, x)
        return place, count, total / count.clamp(min=1)
