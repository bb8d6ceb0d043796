# problem: ycbcr
# target: both
# kind: honest
# mechanism: in whole numbers, as such conversions are: what comes to just a half rounds the other way as often as it does in float64
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.zeros(3, 3))
        self.register_buffer("offsets", torch.zeros(3))

    def forward(self, x):
        weights, offsets = (torch.round(tensor.double() * 2**20).long() for tensor in (self.weights, self.offsets))
        parts = x.long()[..., None, :] * weights
        return (parts.sum(-1) + offsets + 2**19 >> 20).clamp(0, 255).to(torch.uint8)
