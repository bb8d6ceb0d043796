"""Integers that name places, of which a draw has only few: a class of a large vocabulary, a row of a table.

The first place and the last one then come in no draw by chance, and what takes the first for padding, or leaves out the last, passes. Lengths look the
same and must not be zero, so only problems that look something up by integers have such a draw.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from .layout import editable_copy, same_bits
from .trees import map_tensors, tensors_of

#: Fewer may be anything.
_FEWEST = 64
#: The smallest and the largest of so many numbers drawn at random are no further from the ends than so many average gaps.
_GAPS = 3


def find(inputs: list[Any], again: list[Any], lengths: Iterable[int]) -> tuple[int | None, ...]:
    """For each tensor of the inputs how many places its integers name, of these lengths; none where they may be anything else, or where so many are named
    that each place comes in some draw."""
    known = sorted(set(lengths))
    return tuple(_places(one, another, known) for one, another in zip(tensors_of(inputs), tensors_of(again)))


def _places(one: Tensor, another: Tensor, lengths: list[int]) -> int | None:
    if one.dtype not in (torch.int32, torch.int64) or one.shape != another.shape or one.numel() < _FEWEST or same_bits(one, another):
        return None
    low, high = (int(bound) for bound in torch.stack([one, another]).aminmax())
    length = next((length for length in lengths if length > high), None)
    if length is None or one.numel() >= length:
        return None
    near = _GAPS * length / (2 * one.numel())
    return length if 0 <= low <= near and length - 1 - high <= near else None


def outermost(inputs: list[Any], device: torch.device, places: tuple[int | None, ...]) -> list[Any]:
    """The smallest integers name the first place and the largest the last: what is in order stays so, and what comes once too."""
    known = iter(places)

    def changed(tensor: Tensor) -> Tensor:
        copy, elements = editable_copy(tensor, device)
        length = next(known, None)
        if length is not None and elements.numel():
            bounds = elements.aminmax()
            elements.copy_(torch.where(elements == bounds.min, 0, torch.where(elements == bounds.max, length - 1, elements)))
        return copy

    return map_tensors(inputs, changed)
