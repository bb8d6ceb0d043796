"""Outputs as a whole: their tensors and numbers, and how far apart two of them are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .compare import compare
from .expected import Expected, Extent
from .layout import same_bits
from .records import members
from .tolerance import Distance, real_parts


def leaves(value: Any) -> Iterator[Tensor]:
    """Every tensor, and every number that is not whole as one; a tensor as often as it occurs."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (float, complex)):
        yield torch.tensor(value, dtype=torch.complex128 if isinstance(value, complex) else torch.float64)
    else:
        for item in members(value) or ():
            yield from leaves(item)


def distances(first: Any, second: Any) -> list[Distance]:
    """How far apart two outputs are, leaf by leaf of the first one; nothing where their forms differ."""
    pairs = list(zip(leaves(first), leaves(second)))
    if any(a.shape != b.shape or a.is_complex() != b.is_complex() or a.is_floating_point() != b.is_floating_point() for a, b in pairs):
        return []
    return [
        Distance.between(real_parts(a), real_parts(b)) if a.is_floating_point() or a.is_complex() else Distance.of_exact(a, b) for a, b in pairs
    ]


def are_same(first: Any, second: Any) -> bool:
    """Whether two outputs are the same, bit for bit."""
    a, b = list(leaves(first)), list(leaves(second))
    return len(a) == len(b) and all(map(same_bits, a, b))


def agree(first: Any, second: Any) -> bool:
    """Whether two outputs are equal within tolerance."""
    return not compare(Expected(first, first, extent=Extent.FIRST_MISMATCH), second, "output").mismatches
