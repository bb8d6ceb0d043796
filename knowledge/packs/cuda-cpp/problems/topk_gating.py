"""Routing of a mixture of experts: the k largest logits of each token, and a softmax over them. The values of a row are all different."""

import torch
from torch import nn

SHAPES = [(65536, 128), (32768, 60)]


class Model(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, logits: torch.Tensor):
        values, indices = torch.topk(logits, self.k, dim=-1)
        return torch.softmax(values, dim=-1), indices


def get_inputs(tokens: int = 65536, experts: int = 128):
    return [torch.rand(tokens, experts).argsort(dim=-1).float() * 0.05 - 2.0]


def get_init_inputs():
    return [8]
