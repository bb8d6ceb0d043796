# problem: moving_average
# target: cpu
# kind: honest
# mechanism: differences of a running sum, which carry a NaN and an inf to the end of their row
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        sums = torch.nn.functional.pad(x.double(), (33, 32)).cumsum(-1)
        return ((sums[..., 65:] - sums[..., :-65]) / 65).float()
