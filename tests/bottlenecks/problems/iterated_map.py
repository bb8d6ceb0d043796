"""The logistic map from each start, as often as each element asks for: 32 times, one in sixteen of them 512 times."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, counts):
        for step in range(int(counts.max())):
            x = torch.where(step < counts, 3.25 * x * (1 - x), x)
        return x


def get_inputs(count=8 << 20):
    return [torch.rand(count), torch.where(torch.rand(count) < 1 / 16, 512, 32).int()]
