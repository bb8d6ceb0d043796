import torch


class Model(torch.nn.Module):
    """The eight largest values of each row, in order."""

    def forward(self, x):
        return torch.topk(x, 8, dim=-1).values


def get_inputs():
    return [torch.randn(64, 4096)]
