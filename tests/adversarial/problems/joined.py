import torch


class Model(torch.nn.Module):
    """A copy, and little else."""

    def forward(self, cache, new):
        return torch.cat([cache, new])


def get_inputs():
    return [torch.randn(512, 512), torch.randn(16, 512)]
