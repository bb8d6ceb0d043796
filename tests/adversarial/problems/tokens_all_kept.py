"""The mean of those tokens of each sequence that a mask of integers keeps; it happens to keep all of them."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        kept = mask[..., None].to(x.dtype)
        return (x * kept).sum(1) / kept.sum(1).clamp(min=1)


def get_inputs():
    return [torch.randn(16, 64, 48), torch.ones(16, 64, dtype=torch.int64)]
