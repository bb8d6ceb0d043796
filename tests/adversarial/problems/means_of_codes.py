import torch


class Model(torch.nn.Module):
    """The mean of the vectors that are nearest to each code."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.randn(32, 8))

    def forward(self, x):
        nearest = (x[:, None] - self.codes).square().sum(-1).argmin(-1)
        chosen = torch.nn.functional.one_hot(nearest, 32).to(x.dtype)
        return chosen.T @ x / chosen.sum(0).clamp_min(1)[:, None], nearest


def get_inputs():
    return [torch.randn(256, 8)]
