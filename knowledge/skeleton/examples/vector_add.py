# +++
# title = "FILL IN: addition of two vectors, the smallest whole kernel"
# sources = ["FILL IN: an address, or a document with its chapter or section"]
# problem = "problems/vector_add.py"
# evidence = [
#   { target = "@TARGET@", status = "not_run", text = "FILL IN: what you measured, or why nobody ran it" },
# ]
# +++
"""FILL IN: what the kernel does and why it is written like this. `ModelNew` is what the evaluator runs in the place of `Model`."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.add(a, b)
