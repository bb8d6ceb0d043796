# problem: row_stats
# target: both
# kind: honest
# mechanism: a dataclass where the reference returns a dict, and an expanded tensor in it
# timed: yes
# expect: correct
import dataclasses
import typing

import torch


@dataclasses.dataclass
class Stats:
    centred: torch.Tensor
    extremes: typing.Tuple[torch.Tensor, torch.Tensor]
    positive: torch.Tensor
    mask: typing.Optional[torch.Tensor] = None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        ordered = x.sort(dim=-1).values
        return Stats(x - x.mean(dim=-1, keepdim=True), (ordered[:, 0], ordered[:, -1]), x.gt(0).sum(dim=-1))
