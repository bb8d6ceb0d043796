import torch


class Model(torch.nn.Module):
    """A product with what is below zero cut off, and the largest element of each of its rows."""

    def forward(self, x, y):
        product = torch.relu(x @ y)
        return product, product.amax(-1)


def get_inputs():
    return [torch.randn(256, 192), torch.randn(192, 320)]
