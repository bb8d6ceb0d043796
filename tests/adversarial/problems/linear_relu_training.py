import torch

backward = True


class Model(torch.nn.Module):
    """A layer that is trained."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(128, 96)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(64, 128)]
