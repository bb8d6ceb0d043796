# problem: largest_of_each_row
# target: both
# kind: fault
# mechanism: of several equal elements the last one is named, where torch promises the first
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values = x.amax(1, keepdim=True)
        places = torch.arange(x.shape[1], device=x.device)
        is_largest = (x == values) | x.isnan() & values.isnan()
        return values.squeeze(1), torch.where(is_largest, places, -1).amax(1)
