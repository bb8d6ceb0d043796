"""Runs of a reference in which operators round otherwise, as another order of the same sums does.

Inputs that differ in their last digits show where rounding decides an integer, unless they are integers themselves: of an image of bytes a weighted sum may
come to just a half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from .draws import scrambled
from .layout import overlaps
from .trees import tensors_of


#: Zeros become one of so many numbers.
_ABOVE = 1009


class Rounding(TorchDispatchMode):
    """While it is entered, what operators give is moved by up to two of its last digits; another seed moves it otherwise, each odd one opposite to
    the one before. What is a whole number stays: it may be an index, or a count, of which no order of sums makes another. With `saturated`, zeros and ones
    become a little larger: of what a softmax or a logistic function has saturated, several are the same."""

    def __init__(self, seed: int, *, saturated: bool = False) -> None:
        super().__init__()
        self._seed = seed
        self._saturated = saturated
        self._calls = 0

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        given = func(*args, **(kwargs or {}))
        if not func.is_view:
            self._calls += 1
            for number, tensor in enumerate(tensors_of(given)):
                key = 1009 * (self._seed // 2) + 31 * self._calls + number
                _move(tensor, key, -1 if self._seed % 2 else 1, self._saturated)
        return given


def _move(tensor: Tensor, key: int, sign: int, saturated: bool) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.dtype.itemsize < 2 or tensor.layout is not torch.strided or overlaps(tensor):
        return
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    flat = torch.arange(parts.numel(), device=parts.device, dtype=torch.int32 if parts.numel() < 1 << 31 else torch.int64)
    numbers, about = scrambled(flat, key).view(parts.shape), torch.finfo(parts.dtype)
    # Of 16 bits the last one alone is a lot.
    steps = sign * (numbers % 3 - 1 if parts.dtype.itemsize == 2 else numbers % 5 - 2)
    zeros, ones = (parts == 0, parts == 1) if saturated else (None, None)
    parts.mul_(torch.where(parts == parts.round(), 1, 1 + about.eps * steps.to(parts.dtype)))
    if zeros is not None and ones is not None:
        above = (numbers % _ABOVE).to(parts.dtype)
        parts.add_(torch.where(zeros, above * about.tiny, torch.where(ones, above % 4 * about.eps, 0)))
