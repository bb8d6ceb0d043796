import torch


class Model(torch.nn.Module):
    """The largest of each channel's values, after a scale and a shift that are trained."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(96, 1))
        self.shift = torch.nn.Parameter(torch.zeros(96, 1))

    def forward(self, x):
        return (x * self.scale + self.shift).amax(-1)


def get_inputs():
    return [torch.randn(16, 96, 256)]
