"""Integers that are the same in every draw and may be lengths: one number throughout, as where all sequences are full or all groups have one size, or a few.

They are an input like others, and have to be read: in a draw of their own they are others. Smaller ones are as good as lengths, as indices and as counts.
Where they add up to how long something is, they are its parts, and what one has less another has more.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .layout import same_bits
from .ranges import INTEGERS

#: So many different ones are a few; of two, one may be a height and the other a width.
_FEW = range(3, 16)


@dataclass(frozen=True)
class Lengths:
    """What is known of them."""

    #: The largest one.
    longest: int
    #: Whether they add up to how long something is.
    are_parts: bool
    #: Whether none is longer than the one before it, as some operators ask for.
    descend: bool

    def vary(self, elements: Tensor, seed: int) -> None:
        """Makes them others, of at least half of what they were: the same ones wherever the same ones are, so that what belongs together stays so."""
        before = elements.detach().reshape(-1).cpu().long()
        count = before.numel()
        most = before // 2
        if self.are_parts:
            most = torch.minimum(most, most.flip(0))
            most[count // 2 :] = 0
        less = (torch.rand(count, generator=torch.Generator().manual_seed(seed + count), dtype=torch.float64) * (most + 1)).long()
        less[0].clamp_(min=1)
        after = before - less
        if self.are_parts:
            after += less.flip(0)
        if self.descend:
            after = after.sort(descending=True).values
        elements.copy_(after.view(elements.shape).to(elements.device, elements.dtype))


def find(first: list[Tensor], second: list[Tensor], steps: tuple[int, ...]) -> tuple[Lengths | None, ...]:
    """Those of each tensor of two draws. None where other integers may tell the same, as borders do that count in `steps` of one number, or may have to be below
    them: a GPU has no answer for an index that is not."""
    integers = [(number, *pair) for number, pair in enumerate(zip(first, second)) if pair[0].dtype in INTEGERS and pair[0].numel() > 1]
    dimensions = {length for tensor in first for length in tensor.shape}

    def known(at: int, tensor: Tensor) -> Lengths | None:
        numbers = tensor.reshape(-1).long()
        longest, are_one = int(numbers.max()), bool((numbers == numbers[0]).all())
        others = [pair for number, *pair in integers if number != at]
        # What is the same in every draw may tell the same in some way, unless it is the same.
        tell = longest in steps if are_one else any(same_bits(*pair) and not torch.equal(pair[0].reshape(-1).long(), numbers) for pair in others)
        if tell or any(longest // 2 <= int(torch.maximum(*pair).max()) < longest for pair in others):
            return None
        return Lengths(longest, tensor.dtype.itemsize >= 4 and int(numbers.sum()) in dimensions, not are_one and bool((numbers.diff() <= 0).all()))

    return tuple(known(at, pair[0]) if _may_be_lengths(*pair) else None for at, pair in enumerate(zip(first, second)))


def _may_be_lengths(first: Tensor, second: Tensor) -> bool:
    """Whether there are smaller ones of each of some integers that are the same in both draws. Those that ascend may be borders."""
    if first.dtype not in INTEGERS or first.numel() < 2 or not same_bits(first, second) or int(first.min()) < 2:
        return False
    numbers = first.reshape(-1)
    return bool((numbers == numbers[0]).all()) or first.dim() == 1 and len(numbers) in _FEW and not bool((numbers[1:] >= numbers[:-1]).all())
