# problem: interpolated
# target: both
# kind: honest
# mechanism: a number on a border falls into the part before it, which has a slope, as no part of any draw is empty
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, places, values):
        slopes = values.diff() / places.diff()
        part = torch.bucketize(x, places[1:-1].contiguous())
        return values[part] + slopes[part] * (x - places[part])
