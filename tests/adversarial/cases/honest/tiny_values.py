# problem: tiny_values
# target: both
# kind: honest
# mechanism: outputs of 1e-6
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.cos(x - 1.5707963267948966) * 1e-6
