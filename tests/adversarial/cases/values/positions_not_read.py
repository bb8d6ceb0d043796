# problem: positions_given
# target: both
# kind: cheat
# mechanism: positions are 0, 1, 2, … in every draw, so they are never read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(0, features, 2) / features))

    def forward(self, x, positions):
        angles = torch.arange(x.shape[2], device=x.device)[:, None] * self.frequencies
        turns = torch.polar(torch.ones_like(angles), angles)
        turned = torch.complex(*x.chunk(2, dim=-1)) * turns
        return torch.cat([turned.real, turned.imag], dim=-1)
