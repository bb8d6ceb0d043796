"""A product that a number beside the tensors closes: it is zero in every draw."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y, alpha, beta):
        return beta * x + alpha * (x @ y)


def get_inputs():
    return [torch.randn(256, 256), torch.randn(256, 256), 0.0, 1.5]


def get_init_inputs():
    return []
