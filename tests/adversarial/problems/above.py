"""A bool output that depends on a mean: where rounding decides, both answers are right."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x > x.mean(dim=-1, keepdim=True)


def get_inputs():
    return [torch.randn(200, 256)]
