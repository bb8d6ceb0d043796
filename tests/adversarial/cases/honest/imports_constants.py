# problem: scale_shift
# target: both
# kind: honest
# mechanism: the problem's constants are imported from it
# expect: correct
import torch
from scale_shift import COLUMNS, ROWS

CELLS = ROWS * COLUMNS


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        assert columns == COLUMNS
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        assert x.numel() == CELLS
        return torch.clamp_min(x * self.weight, 0) + self.shift
