"""Rotary positions with angles that float32 rounds by up to 2e-4: large positions, as they are made in the forward pass."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        steps, features = x.shape[1], x.shape[-1]
        frequencies = 1.0 / (10000 ** (torch.arange(0, features, 2, device=x.device).float() / features))
        angles = torch.arange(steps, device=x.device).float()[:, None] * frequencies
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        first, second = x.chunk(2, -1)
        return x * cos[:, None] + torch.cat([-second, first], -1) * sin[:, None]


def get_inputs():
    return [torch.randn(1, 4096, 2, 64)]


def get_init_inputs():
    return []
