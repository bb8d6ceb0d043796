# problem: largest_magnitude
# target: both
# kind: fault
# mechanism: the last elements, which fill no vector of sixteen, are left out of a maximum that is hardly ever there
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x[: len(x) // 16 * 16].abs().amax() / 127
