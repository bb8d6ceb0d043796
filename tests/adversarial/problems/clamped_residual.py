import torch


class Model(torch.nn.Module):
    """What is left of clamped numbers, weighted, and beside whole steps."""

    def forward(self, x, w):
        steps = x.clamp(-8, 8)
        return (x.clamp(0.1, 0.9) - 0.1) * w, steps - torch.round(steps * 10) * 0.1


def get_inputs():
    return [torch.randn(64, 512), torch.randn(512)]
