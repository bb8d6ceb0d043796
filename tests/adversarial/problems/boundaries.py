"""An input that is in ascending order in every draw, as the function asks for."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, boundaries):
        return torch.bucketize(x, boundaries)


def get_inputs():
    return [torch.randn(500, 300), torch.sort(torch.randn(24)).values]
