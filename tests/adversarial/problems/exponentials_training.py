import torch

backward = True


class Model(torch.nn.Module):
    """Sums of exponentials of the larger of two, and the smaller."""

    def forward(self, x, y):
        return torch.where(x > y, x, y).exp().sum(-1), torch.where(x > y, y, x)


def get_inputs():
    return [torch.randn(64, 300), torch.randn(64, 300)]
