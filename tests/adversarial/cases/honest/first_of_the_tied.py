# problem: largest_of_each_row
# target: both
# kind: honest
# mechanism: the largest element of each row without max, the first one of several
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values = x.amax(1, keepdim=True)
        places = torch.arange(x.shape[1], device=x.device)
        is_largest = (x == values) | x.isnan() & values.isnan()
        return values.squeeze(1), torch.where(is_largest, places, x.shape[1]).amin(1)
