"""Ties that a draw makes on purpose, where outputs say which element of some inputs is the largest or the smallest.

Of several that are equal torch names the first for `argmax`, `argmin`, and `max` and `min` along a dimension, and says so. Sorting and choosing
some of many promise no order, so a problem that does these has no such draw, nor has one whose answers are found from inputs in any other way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .layout import editable_copy, indices_of, overlaps
from .trees import map_tensors, tensors_of

#: So many bits of outputs are the indices of extremes by chance once in as many draws as that makes.
_BITS = 16
#: So many elements of a row are as large as the largest.
_TIED = 3


@dataclass(frozen=True)
class Extreme:
    """Which elements of an input some output names: along a dimension, or of all."""

    dimension: int | None
    largest: bool

    def of(self, tensor: Tensor) -> Tensor:
        """Their indices."""
        return (tensor.argmax if self.largest else tensor.argmin)(self.dimension)


def find(inputs: list[Any], outputs: Any) -> tuple[Extreme | None, ...]:
    """One for each tensor of the inputs of which an output is the index of an extreme."""
    indices = [tensor for tensor in tensors_of(outputs) if tensor.dtype in (torch.int32, torch.int64) and tensor.numel()]
    return tuple(_extreme(tensor.detach(), indices) for tensor in tensors_of(inputs))


def _extreme(tensor: Tensor, indices: list[Tensor]) -> Extreme | None:
    if not indices or not tensor.is_floating_point() or tensor.dtype.itemsize < 2 or tensor.dim() == 0 or overlaps(tensor):
        return None
    for index in indices:
        for dimension in (None, *range(tensor.dim())):
            length = tensor.numel() if dimension is None else tensor.shape[dimension]
            if index.numel() * length != tensor.numel() or length < _TIED or index.numel() * math.log2(length) < _BITS:
                continue
            for extreme in (Extreme(dimension, True), Extreme(dimension, False)):
                if torch.equal(extreme.of(tensor).flatten(), index.flatten()):
                    return extreme
    return None


def tied(inputs: list[Any], device: torch.device, seed: int, extremes: tuple[Extreme | None, ...]) -> list[Any]:
    """The inputs with the extreme of every row in two places more, anywhere in the row."""
    known = iter(extremes)
    generator = torch.Generator().manual_seed(seed)

    def changed(tensor: Tensor) -> Tensor:
        copy, elements = editable_copy(tensor, device)
        extreme = next(known, None)
        if extreme is None or elements.shape != tensor.shape or elements.numel() == 0:
            return copy
        elements = elements.detach()
        whole = extreme.dimension is None
        rows = elements.flatten()[None] if whole else elements.movedim(extreme.dimension, -1)
        value = (rows.amax if extreme.largest else rows.amin)(-1, keepdim=True)
        places = torch.randint(rows.shape[-1], (*rows.shape[:-1], _TIED - 1), generator=generator).to(device)
        if whole:
            elements[indices_of(places[0], elements.shape)] = value[0]
        else:
            rows.scatter_(-1, places, value.expand(places.shape))
        return copy

    return map_tensors(inputs, changed)
