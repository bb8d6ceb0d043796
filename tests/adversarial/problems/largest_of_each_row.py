import torch


class Model(torch.nn.Module):
    """The largest element of each row, and where it is: of several the first one."""

    def forward(self, x):
        return x.max(dim=1)


def get_inputs():
    return [torch.randn(512, 4096)]
