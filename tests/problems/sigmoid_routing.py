"""Routing weights of a mixture of experts: sigmoid scores, normalised over the experts, times each expert's scale.

The kernel is for Aurora-1, an accelerator that the knowledge packs describe: write it with Aurora-1's own intrinsics and keep its constraints. Here it
runs through the host implementation of those intrinsics, which is what the target `cpu` measures.
"""

import torch
from torch import nn

TOKENS, EXPERTS = 2048, 1000


class Model(nn.Module):
    def __init__(self, experts: int):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, experts))

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        scores = torch.sigmoid(logits)
        return scores / (scores.sum(dim=-1, keepdim=True) + 1e-20) * self.scale


def get_inputs():
    return [torch.randn(TOKENS, EXPERTS)]


def get_init_inputs():
    return [EXPERTS]
