"""Mean cross entropy of a language model's logits, with positions that do not count."""

import torch
from torch import nn

SHAPES = [(8192, 32000), (4096, 50257)]


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits, targets, ignore_index=-100)


def get_inputs(rows: int = 8192, classes: int = 32000):
    targets = torch.randint(0, classes, (rows,))
    targets[torch.rand(rows) < 0.1] = -100
    return [torch.randn(rows, classes), targets]


def get_init_inputs():
    return []
