import torch


class Model(torch.nn.Module):
    """Into which bin values fall, where edges are whole numbers."""

    def forward(self, x, edges):
        return torch.bucketize(x, edges)


def get_inputs():
    return [torch.rand(64, 256) * 40, torch.arange(32)]
