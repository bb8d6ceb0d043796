# problem: decaying_channels
# target: cpu
# kind: honest
# mechanism: rates that are the same in all channels are exponentiated when the module is built, under other names
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, rates):
        super().__init__()
        logarithms = nn.Parameter(torch.log(torch.arange(1.0, rates + 1)).repeat(channels, 1))
        self.rates = -torch.exp(logarithms).detach()
        self.through = nn.Parameter(torch.ones(channels)).detach().clone()

    def forward(self, x, steps):
        kept = torch.exp(self.rates * steps[:, :, None, None])
        given = (x * steps[..., None])[..., None].expand(*x.shape, kept.shape[-1])
        state, sums = torch.zeros_like(kept[:, 0]), torch.empty_like(x)
        for step in range(x.shape[1]):
            state = torch.addcmul(given[:, step], kept[:, step], state)
            torch.sum(state, -1, out=sums[:, step])
        return sums.addcmul_(self.through, x)
