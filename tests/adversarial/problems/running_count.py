import torch


class Model(torch.nn.Module):
    """Running sums of short integers along each row, which are long ones."""

    def forward(self, x):
        return torch.cumsum(x, -1)


def get_inputs():
    return [torch.randint(-1000, 1000, (256, 3000), dtype=torch.int32)]
