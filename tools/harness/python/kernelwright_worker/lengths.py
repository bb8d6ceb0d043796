"""Integers that are the same in every draw and may be lengths: one number throughout, as where all sequences are full or all groups have one size, or a few.
Or the borders between parts, from zero to how long something is.

They are an input like others, and have to be read: in a draw of their own they are others. Smaller ones are as good as lengths, as indices and as counts.
Where they add up to how long something is, they are its parts, and what one has less another has more. Borders move, and no part becomes larger than the
largest one was, which somebody may have been told.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .layout import same_bits
from .ranges import INTEGERS

#: So many different ones are a few; of two, one may be a height and the other a width.
_FEW = range(3, 16)
#: Borders are so many or more. So many ways of moving them are tried, each of them less far than the one before.
_FEWEST_BORDERS, _TRIES = 4, 8


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
        # At least one of them is shorter.
        less[most.argmax()] = less[most.argmax()].clamp(min=min(1, int(most.max())))
        after = before - less
        if self.are_parts:
            after += less.flip(0)
        if self.descend:
            after = after.sort(descending=True).values
        elements.copy_(after.view(elements.shape).to(elements.device, elements.dtype))


@dataclass(frozen=True)
class Borders:
    """Of parts whose lengths differ; those of equal parts count in steps (`traits.py`)."""

    #: How long all parts are together.
    longest: int

    def vary(self, elements: Tensor, seed: int) -> None:
        """Moves all but the first and the last, none beyond another."""
        before = elements.detach().cpu().long()
        gaps = before.diff()
        generator = torch.Generator().manual_seed(seed + before.numel())
        for part in range(_TRIES):
            room = (gaps - 1).clamp(min=0) // 2 >> part
            span = room[:-1] + room[1:]
            moved = (torch.rand(span.numel(), generator=generator, dtype=torch.float64) * (span + 1)).long() - room[:-1]
            after = before.clone()
            after[1:-1] += moved
            if bool(moved.any()) and int(after.diff().max()) <= int(gaps.max()):
                elements.copy_(after.to(elements.device, elements.dtype))
                return


def find(first: list[Tensor], second: list[Tensor], steps: tuple[int, ...]) -> tuple[Lengths | Borders | None, ...]:
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

    def borders(*pair: Tensor) -> Borders | None:
        # What else is the same in every draw may tell how long parts are.
        is_alone = not any(same_bits(*others) for _number, *others in integers if others[0] is not pair[0])
        return Borders(int(pair[0][-1])) if _may_be_borders(*pair) and is_alone and int(pair[0][-1]) in dimensions else None

    return tuple(known(at, pair[0]) if _may_be_lengths(*pair) else borders(*pair) for at, pair in enumerate(zip(first, second)))


def _may_be_lengths(first: Tensor, second: Tensor) -> bool:
    """Whether there are smaller ones of integers that are the same in both draws, and none of them is zero. Those that ascend may be borders."""
    if first.dtype not in INTEGERS or first.numel() < 2 or not same_bits(first, second) or int(first.min()) < 1:
        return False
    numbers = first.reshape(-1)
    return bool((numbers == numbers[0]).all()) and int(numbers[0]) > 1 or first.dim() == 1 and len(numbers) in _FEW and not bool((numbers[1:] >= numbers[:-1]).all())


def _may_be_borders(first: Tensor, second: Tensor) -> bool:
    """Whether integers that are the same in both draws ascend from zero, in steps that differ."""
    if first.dtype not in INTEGERS or first.dim() != 1 or first.numel() < _FEWEST_BORDERS or not same_bits(first, second) or int(first[0]) != 0:
        return False
    steps = first.long().diff()
    return bool((steps >= 0).all()) and not bool((steps == steps[0]).all())
