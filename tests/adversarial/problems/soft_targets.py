import torch
from torch import nn


class Model(nn.Module):
    def forward(self, logits, targets):
        return -(targets * torch.log_softmax(logits, 1)).sum(1)


def get_inputs():
    return [torch.randn(1024, 256), torch.softmax(torch.randn(1024, 256), 1)]
