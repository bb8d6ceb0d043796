"""Integers that are one number in every draw, such as lengths of sequences that all are full, or sizes of groups that all are equal.

They are an input like others, and have to be read: in a draw of their own each is another one. Smaller ones are as good as lengths, as indices and as counts.
Where they add up to how long something is, they are its parts, and what one has less another has more.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .layout import same_bits
from .ranges import INTEGERS


@dataclass(frozen=True)
class EqualNumbers:
    """That number, and whether they are the parts of something."""

    number: int
    are_parts: bool

    def vary(self, elements: Tensor, seed: int) -> None:
        """Makes each another number, of at least half of what it was: the same ones wherever there are as many of them, so that what belongs together stays so."""
        count = elements.numel()
        less = torch.randint(0, self.number // 2 + 1, (count,), generator=torch.Generator().manual_seed(seed + count))
        less[0].clamp_(min=1)
        if self.are_parts:
            less[count // 2 :] = 0
            less -= less.flip(0)
        elements.sub_(less.view(elements.shape).to(elements.device, elements.dtype))


def find(first: list[Tensor], second: list[Tensor], steps: tuple[int, ...]) -> tuple[EqualNumbers | None, ...]:
    """Those of each tensor of two draws; none where integers count in `steps` of that number, as borders do that tell the same, or where other integers may
    have to be below it: a GPU has no answer for an index that is not."""
    numbers = [_number(*pair) for pair in zip(first, second)]
    lengths = {length for tensor in first for length in tensor.shape}
    largest = [
        int(torch.maximum(*pair).max())
        for pair, number in zip(zip(first, second), numbers)
        if pair[0].dtype in INTEGERS and pair[0].numel() > 1 and number is None
    ]
    found: list[EqualNumbers | None] = []
    for tensor, number in zip(first, numbers):
        if number is None or number in steps or any(number // 2 <= one < number for one in largest):
            found.append(None)
        else:
            found.append(EqualNumbers(number, tensor.dtype.itemsize >= 4 and number * tensor.numel() in lengths))
    return tuple(found)


def _number(first: Tensor, second: Tensor) -> int | None:
    """The number that integers are in both draws, if there are smaller ones."""
    if first.dtype not in INTEGERS or first.numel() < 2 or not same_bits(first, second):
        return None
    number = int(first.reshape(-1)[0])
    return number if number > 1 and bool((first == number).all()) else None
