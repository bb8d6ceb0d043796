import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x).unsqueeze(1).repeat(1, 64, 1)


def get_inputs():
    return [torch.randn(128, 128)]
