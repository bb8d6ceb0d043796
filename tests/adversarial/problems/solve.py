"""Inputs with few rows."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.linalg.solve(a @ b + 64 * torch.eye(64, device=a.device), a)


def get_inputs():
    return [torch.randn(64, 64), torch.randn(64, 64)]
