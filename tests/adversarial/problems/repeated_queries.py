import torch


class Model(torch.nn.Module):
    """Pooling by learned queries, all of which begin as the same one."""

    def __init__(self, queries, features):
        super().__init__()
        self.queries = torch.nn.Parameter(torch.randn(1, features).repeat(queries, 1) / features**0.5)

    def forward(self, x):
        return torch.softmax(self.queries @ x.transpose(1, 2), -1) @ x


def get_inputs():
    return [torch.randn(4, 128, 128)]


def get_init_inputs():
    return [64, 128]
