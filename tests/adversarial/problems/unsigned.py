"""Integers of dtypes that torch has little arithmetic for."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return (x.int() + y.int()).to(torch.uint16), (x.long() * 65536 + y.long()).to(torch.uint32)


def get_inputs():
    return [torch.randint(0, 30000, (64, 64)).to(torch.uint16), torch.randint(0, 30000, (64, 64)).to(torch.uint16)]
