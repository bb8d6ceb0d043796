"""Integers alone, and an answer that does not depend on their order."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.bincount(x.flatten(), minlength=256)


def get_inputs():
    return [torch.randint(0, 256, (512, 512))]
