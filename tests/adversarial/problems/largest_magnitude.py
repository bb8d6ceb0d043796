import torch


class Model(torch.nn.Module):
    """The step of a quantisation to eight bits: a hundred and twenty-seventh of the largest magnitude."""

    def forward(self, x):
        return x.abs().amax() / 127


def get_inputs():
    return [torch.randn(1000003)]
