"""A dict that holds tensors of several dtypes, a tuple and a None."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        return {
            "centred": centred,
            "extremes": (x.amin(dim=-1), x.amax(dim=-1)),
            "positive": (x > 0).sum(dim=-1),
            "mask": None,
        }


def get_inputs():
    return [torch.randn(96, 200)]
