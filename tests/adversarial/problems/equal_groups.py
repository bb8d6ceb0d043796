import torch


class Model(torch.nn.Module):
    """Each group of rows times a matrix of its own; the groups happen to be equal."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 32, 48) / 6)

    def forward(self, x, sizes):
        return torch.cat([rows @ weight for rows, weight in zip(x.split(sizes.tolist()), self.weight)])


def get_inputs():
    return [torch.randn(256, 32), torch.full((8,), 32)]
