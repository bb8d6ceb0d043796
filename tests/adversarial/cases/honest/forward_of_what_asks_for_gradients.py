# problem: gradients_asked_for
# target: both
# kind: honest
# mechanism: a forward pass alone, for a problem whose inputs require gradients and which does not say whether they count; the verdict says what was not looked at
# expect: correct
# finding: gradients_not_checked
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        with torch.no_grad():
            return nn.functional.rms_norm(x, x.shape[-1:], self.weight, 1e-6)
