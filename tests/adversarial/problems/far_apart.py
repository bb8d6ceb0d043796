import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.exp(8 * x)


def get_inputs():
    return [torch.randn(512, 1024)]
