"""Layer normalisation of bfloat16 rows."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width, dtype=torch.bfloat16)

    def forward(self, x):
        return self.norm(x)


def get_inputs(rows=32768, columns=4096):
    return [torch.randn(rows, columns).bfloat16()]


def get_init_inputs():
    return [4096]
