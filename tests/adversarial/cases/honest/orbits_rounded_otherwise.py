# problem: escaping
# target: both
# kind: honest
# mechanism: steps after which orbits leave, of which the longest depend on how a product and a sum are rounded together
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, real, imaginary):
        z = torch.complex(real, imaginary)
        count = torch.zeros_like(real, dtype=torch.int32)
        stays = torch.ones_like(real, dtype=torch.bool)
        for _ in range(self.steps):
            z = z * z + (-0.8 + 0.156j)
            stays &= z.real.square() + z.imag.square() < 4
            count += stays
        return count
