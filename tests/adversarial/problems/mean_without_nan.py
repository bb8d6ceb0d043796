import torch


class Model(torch.nn.Module):
    """The mean of what was measured in each row: a NaN stands for what was not."""

    def forward(self, x):
        return torch.nanmean(x * x, -1)


def get_inputs():
    return [torch.randn(512, 1024)]
