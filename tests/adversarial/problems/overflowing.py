import torch


class Model(torch.nn.Module):
    """Softplus and sigmoid as they are written down: beyond 88 the exponential overflows, which the problem's own inputs never reach."""

    def forward(self, x):
        e = torch.exp(x)
        return torch.log(1 + e), e / (1 + e)


def get_inputs():
    return [torch.randn(128, 256) * 10]
