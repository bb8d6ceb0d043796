# problem: selected
# target: both
# kind: honest
# mechanism: an output whose shape depends on the data
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.masked_select(x, x > 0.5).mul_(2)
