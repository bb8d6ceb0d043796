import torch
from torch import nn


class Model(nn.Module):
    """Two of eight experts for each token, with their weights."""

    def forward(self, logits):
        weights, experts = torch.topk(torch.softmax(logits, -1), 2, dim=-1)
        return weights / weights.sum(-1, keepdim=True), experts


def get_inputs():
    return [torch.randn(4096, 8)]
