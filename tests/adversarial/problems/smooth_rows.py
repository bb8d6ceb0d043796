"""Each row smoothed by five taps, fewer at its ends."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        taps = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1], dtype=x.dtype, device=x.device)
        return torch.nn.functional.conv1d(x[:, None], taps.view(1, 1, 5), padding=2)[:, 0]


def get_inputs():
    return [torch.randn(203, 331)]


def get_init_inputs():
    return []
