import torch


class Model(torch.nn.Module):
    """Weights, as multiples of the mean of their row."""

    def forward(self, energies):
        weights = torch.exp(0.85 * energies)
        return weights / weights.mean(-1, keepdim=True)


def get_inputs():
    return [torch.rand(96, 256)]
