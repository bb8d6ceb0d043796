"""A state space scan as in Mamba 2: a scalar decay for each head."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, log_a, b, c):
        batch, t, heads, p = x.shape
        state = x.new_zeros(batch, heads, p, b.shape[-1])
        out = []
        for i in range(t):
            state = state * torch.exp(log_a[:, i])[..., None, None] + x[:, i, :, :, None] * b[:, i, None, None, :]
            out.append((state * c[:, i, None, None, :]).sum(-1))
        return torch.stack(out, 1), state


def get_inputs():
    return [
        torch.randn(2, 128, 4, 16),
        -torch.nn.functional.softplus(torch.randn(2, 128, 4)),
        torch.randn(2, 128, 16),
        torch.randn(2, 128, 16),
    ]


def get_init_inputs():
    return []
