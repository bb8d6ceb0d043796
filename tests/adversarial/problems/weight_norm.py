import torch


class Model(torch.nn.Module):
    """A layer whose weight is kept as magnitudes and directions, which agree when it is built."""

    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(features, features))

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_inputs():
    return [torch.randn(16, 512)]


def get_init_inputs():
    return [512]
