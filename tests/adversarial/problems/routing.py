import torch
from torch import nn


class Model(nn.Module):
    """Two of eight experts for each token, with their weights."""

    def forward(self, logits):
        weights, experts = torch.topk(torch.softmax(logits, -1), 2, dim=-1)
        return weights / weights.sum(-1, keepdim=True), experts


def get_inputs():
    logits = torch.randn(4096, 8)
    # Where some of the first token's logits are zeros, these are its best ones, and equal.
    logits[0] = -1 - logits[0].abs()
    return [logits]
