"""Root mean square norm in bfloat16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(width, dtype=torch.bfloat16) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * self.weight


def get_inputs():
    return [torch.randn(128, 256).to(torch.bfloat16)]


def get_init_inputs():
    return [256]
