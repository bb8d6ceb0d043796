# problem: means_of_codes
# target: both
# kind: honest
# mechanism: adds vectors up where they belong, where the reference multiplies by ones and zeros, which carry a NaN to all codes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.randn(32, 8))

    def forward(self, x):
        nearest = (x[:, None] - self.codes).square().sum(-1).argmin(-1)
        sums = x.new_zeros(32, 8).index_add_(0, nearest, x)
        return sums / torch.bincount(nearest, minlength=32).clamp_min(1)[:, None], nearest
