"""Pixels of bytes in other coordinates: some come to just a half before they are rounded."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weights = [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]
        self.register_buffer("weights", torch.tensor(weights))
        self.register_buffer("offsets", torch.tensor([0.0, 128.0, 128.0]))

    def forward(self, x):
        return torch.round(x.to(self.weights.dtype) @ self.weights.t() + self.offsets).clamp(0, 255).to(torch.uint8)


def get_inputs():
    return [torch.randint(0, 256, (256, 256, 3), dtype=torch.uint8)]
