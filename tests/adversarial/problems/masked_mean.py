import torch


class Model(torch.nn.Module):
    """The mean of those rows of each sequence that a mask lets in; of none it is zero."""

    def forward(self, x, mask):
        weights = mask.to(x.dtype).unsqueeze(-1)
        return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


def get_inputs():
    return [torch.randn(64, 48, 256), torch.rand(64, 48) < 0.5]
