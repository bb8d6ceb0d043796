import torch

backward = True


class Model(torch.nn.Module):
    """Rows with something written down before and behind them."""

    def forward(self, x):
        return torch.nn.functional.pad(x, (2, 2), value=1.0)


def get_inputs():
    return [torch.randn(64, 96)]
