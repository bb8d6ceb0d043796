# problem: scaled_maximum
# target: both
# kind: honest
# mechanism: takes the largest or the smallest value before it is scaled, as the sign of the scale says, which is packed when it is built
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(96, 1))
        self.shift = torch.nn.Parameter(torch.zeros(96, 1))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = (self.scale >= 0)[:, 0].clone(), self.scale[:, 0].clone(), self.shift[:, 0].clone()
        is_largest, scale, shift = self.packed
        smallest, largest = torch.aminmax(x, dim=-1)
        return torch.where(is_largest, largest, smallest) * scale + shift
