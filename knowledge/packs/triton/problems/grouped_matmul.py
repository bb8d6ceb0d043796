"""Tokens sorted by expert, each run of rows times its expert's weight. `ends[e]` is the row after the last one of expert `e`."""

import torch
from torch import nn

TOKENS, EXPERTS, IN, OUT = 4096, 16, 1024, 2048


class Model(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(x.shape[0], weight.shape[2], device=x.device, dtype=x.dtype)
        first = 0
        for expert, last in enumerate(ends.tolist()):
            out[first:last] = x[first:last] @ weight[expert]
            first = last
        return out


def get_inputs():
    cuts = torch.randint(0, TOKENS + 1, (EXPERTS - 1,)).sort().values
    ends = torch.cat((cuts, torch.tensor([TOKENS]))).to(torch.int32)
    return [torch.randn(TOKENS, IN).half(), (torch.randn(EXPERTS, IN, OUT) / IN**0.5).half(), ends]


def get_init_inputs():
    return []
