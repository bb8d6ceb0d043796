"""A contract to change an input: the first one is updated and returned."""

import torch


class Model(torch.nn.Module):
    def forward(self, state, update):
        state.mul_(0.9).add_(update)
        return state


def get_inputs():
    return [torch.randn(128, 256), torch.randn(128, 256)]
