import torch


class Model(torch.nn.Module):
    """The mean of the first elements of each sequence, of which all happen to be full."""

    def forward(self, x, lengths):
        inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        return (x * inside[..., None]).sum(1) / lengths[:, None]


def get_inputs():
    return [torch.randn(16, 128, 64), torch.full((16,), 128)]
