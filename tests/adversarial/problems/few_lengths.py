import torch


class Model(torch.nn.Module):
    """The largest of the first elements of each sequence, of which each always has the same number."""

    def forward(self, x, lengths):
        beyond = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
        return x.masked_fill(beyond[..., None], -torch.inf).amax(1)


def get_inputs():
    return [torch.randn(5, 128, 64), torch.tensor([37, 128, 64, 9, 90])]
