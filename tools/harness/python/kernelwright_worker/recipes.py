"""The inputs of timed calls, made from an entry's inputs by a recipe.

Both roles run this code on their own copies, so that the trusted side can compute what a timed call should have given without moving data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .layout import editable_copy, window_of
from .trees import map_tensors, tensors_of

#: Leading dimensions are counted together until there are this many rows; as in the supervisor.
_ROWS = 64


@dataclass(frozen=True)
class Recipe:
    """Floating tensors times `scale`, then rolled by `roll` along their first dimension that is longer than one; or, where it is not 0, dense
    floating tensors with their last `rotate` rows in front, which the supervisor can do by moving bytes."""

    scale: float = 1.0
    roll: int = 0
    rotate: int = 0

    @classmethod
    def parse(cls, value: object) -> Recipe:
        """Reads the recipe of a request; null copies."""
        value = {} if value is None else value
        scale, roll, rotate = (value.get("scale", 1.0), value.get("roll", 0), value.get("rotate", 0)) if isinstance(value, dict) else (None, None, None)
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or type(roll) is not int or type(rotate) is not int:
            raise WorkerError("internal", "place", f"a recipe {value!r}")
        return cls(float(scale), roll, rotate)


def can_scale(tensor: Tensor) -> bool:
    """Whether arithmetic is defined on the tensor's values: floating or complex, of two bytes or more."""
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype.itemsize >= 2


def _is_rotated(tensor: Tensor) -> bool:
    """Whether rows of the tensor can be moved."""
    return can_scale(tensor) and tensor.dim() > 0 and tensor.is_contiguous() and tensor.numel() > 1


def apply(inputs: list[Any], recipe: Recipe, device: torch.device) -> list[Any]:
    """Fresh inputs in memory of their own.

    Integers and bools are only copied: they may be indices, offsets or masks. In a problem without floating inputs they are rolled all the
    same, or every timed call would see equal data; one whose values are sorted is left alone, because it is likely to hold offsets.
    """
    floating = any(can_scale(tensor) and tensor.numel() > 1 for tensor in tensors_of(inputs))

    def change(tensor: Tensor) -> Tensor:
        if _is_rotated(tensor):
            return _rotated(tensor, recipe.rotate, device) if recipe.rotate else _in_one_pass(tensor, recipe, device)
        copy, elements = editable_copy(tensor, device)
        scaled = can_scale(tensor)
        if scaled and recipe.scale != 1.0:
            elements.detach().mul_(recipe.scale)
        rolled = scaled if floating else not _is_sorted(tensor)
        if rolled and recipe.roll and elements.dim() and elements.numel() > 1:
            elements.detach().copy_(torch.roll(elements.detach(), recipe.roll, _rolled_dimension(elements) if scaled else -1))
        return copy

    return map_tensors(inputs, change)


def _rolled_dimension(tensor: Tensor) -> int:
    return next((index for index, length in enumerate(tensor.shape) if length > 1), 0)


def _in_one_pass(tensor: Tensor, recipe: Recipe, device: torch.device) -> Tensor:
    """A dense floating tensor scaled and rolled while it is copied, in two dense pieces: most of what placing a batch costs is memory traffic."""
    source = tensor.detach()
    copy = torch.empty_like(source, device=device)
    dimension = _rolled_dimension(source)
    length = source.shape[dimension]
    split = recipe.roll % length
    for start, count, to in ((0, length - split, split), (length - split, split, 0)):
        if count:
            torch.mul(source.narrow(dimension, start, count), recipe.scale, out=copy.narrow(dimension, to, count))
    return copy.requires_grad_(tensor.requires_grad)


def _rotated(tensor: Tensor, by: int, device: torch.device) -> Tensor:
    """A dense tensor with its last rows in front. Rows are counted over as many of the leading dimensions as it takes to have `_ROWS` of them."""
    copy = torch.empty_like(tensor.detach(), device=device)
    copy.view(-1).copy_(torch.roll(tensor.detach().view(-1), _moved(tensor, by)))
    return copy.requires_grad_(tensor.requires_grad)


def _moved(tensor: Tensor, by: int) -> int:
    """How many elements come in front."""
    rows = 1
    for length in tensor.shape:
        if rows >= _ROWS:
            break
        rows *= length
    return by % rows * (tensor.numel() // rows)


def pieces(tensor: Tensor, by: int) -> list[tuple[int, Tensor]]:
    """The bytes of a tensor as `rotate` puts them: pieces of its window, each with where it goes."""
    window = window_of(tensor.detach())
    moved = _moved(tensor, by) * tensor.dtype.itemsize if _is_rotated(tensor) else 0
    split = window.numel() - moved
    return [(to, piece) for to, piece in ((0, window[split:]), (moved, window[:split])) if piece.numel()]


def _is_sorted(tensor: Tensor) -> bool:
    if tensor.dim() == 0 or tensor.shape[-1] < 2 or tensor.dtype == torch.bool or tensor.is_complex():
        return False
    return bool((tensor.narrow(-1, 1, tensor.shape[-1] - 1) >= tensor.narrow(-1, 0, tensor.shape[-1] - 1)).all())
