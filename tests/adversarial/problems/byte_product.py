"""A product of bytes, whose sums need more than the 24 bits of a float32 where they are as large as they can be."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, w):
        product = x.double() @ w.double()
        return product.to(torch.int32)


def get_inputs():
    return [torch.randint(0, 64, (65, 1500), dtype=torch.uint8), torch.randint(0, 256, (1500, 67), dtype=torch.uint8)]


def get_init_inputs():
    return []
