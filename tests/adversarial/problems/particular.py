"""A reference that refuses inputs it was not written for."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.abs().amax() < 0.99:
            raise ValueError("the inputs have to reach 1")
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.where(torch.rand(256, 512) > 0.5, 1.0, torch.rand(256, 512))]
