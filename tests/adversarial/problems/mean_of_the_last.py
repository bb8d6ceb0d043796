"""The mean of the last sixteen inputs."""

import torch


class Model(torch.nn.Module):
    def __init__(self, size, kept):
        super().__init__()
        self.register_buffer("window", torch.zeros(kept, size))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.window[self.count % len(self.window)] = x
        self.count += 1
        return self.window.sum(0) / self.count.clamp(max=len(self.window))


def get_init_inputs():
    return [1000, 16]


def get_inputs():
    return [torch.randn(1000)]
