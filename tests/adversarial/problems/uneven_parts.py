"""Sums of the parts of a sequence, whose borders are the same every time."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, borders):
        ends = borders.tolist()
        return torch.stack([x[begin:end].sum(0) for begin, end in zip(ends, ends[1:])])


def get_inputs():
    return [torch.randn(512, 64), torch.tensor([0, 40, 41, 130, 200, 333, 512])]
