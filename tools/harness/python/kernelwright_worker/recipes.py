"""The inputs of timed calls, made from an entry's inputs by a recipe.

Both roles run this code on their own copies, so that the trusted side can compute what a timed call should have given without moving data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .layout import editable_copy
from .trees import map_tensors, tensors_of


@dataclass(frozen=True)
class Recipe:
    """Floating tensors times `scale`, then rolled by `roll` along the last dimension."""

    scale: float
    roll: int

    @classmethod
    def parse(cls, value: object) -> Recipe:
        """Reads the recipe of a request; null copies."""
        value = {} if value is None else value
        scale, roll = (value.get("scale", 1.0), value.get("roll", 0)) if isinstance(value, dict) else (None, None)
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or type(roll) is not int:
            raise WorkerError("internal", "place", f"a recipe {value!r}")
        return cls(float(scale), roll)


def can_scale(tensor: Tensor) -> bool:
    """Whether arithmetic is defined on the tensor's values: floating or complex, of two bytes or more."""
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype.itemsize >= 2


def apply(inputs: list[Any], recipe: Recipe, device: torch.device) -> list[Any]:
    """Fresh inputs in memory of their own.

    Integers and bools are only copied: they may be indices, offsets or masks. In a problem without floating inputs they are rolled all the
    same, or every timed call would see equal data; one whose values are sorted is left alone, because it is likely to hold offsets.
    """
    floating = any(can_scale(tensor) and tensor.numel() > 1 for tensor in tensors_of(inputs))

    def change(tensor: Tensor) -> Tensor:
        if can_scale(tensor) and tensor.dim() and tensor.is_contiguous() and tensor.numel() > 1:
            return _in_one_pass(tensor, recipe, device)
        copy, elements = editable_copy(tensor, device)
        scaled = can_scale(tensor)
        if scaled and recipe.scale != 1.0:
            elements.detach().mul_(recipe.scale)
        rolled = scaled if floating else not _is_sorted(tensor)
        if rolled and recipe.roll and elements.dim() and elements.numel() > 1:
            elements.detach().copy_(torch.roll(elements.detach(), recipe.roll, -1))
        return copy

    return map_tensors(inputs, change)


def _in_one_pass(tensor: Tensor, recipe: Recipe, device: torch.device) -> Tensor:
    """A dense floating tensor scaled and rolled while it is copied: most of what placing a batch costs is memory traffic."""
    source = tensor.detach()
    copy = torch.empty_like(source, device=device)
    length = source.shape[-1]
    split = recipe.roll % length
    for start, stop, shift in ((0, length - split, split), (length - split, length, split - length)):
        if start < stop:
            torch.mul(source[..., start:stop], recipe.scale, out=copy[..., start + shift : stop + shift])
    return copy.requires_grad_(tensor.requires_grad)


def _is_sorted(tensor: Tensor) -> bool:
    if tensor.dim() == 0 or tensor.shape[-1] < 2 or tensor.dtype == torch.bool or tensor.is_complex():
        return False
    return bool((tensor.narrow(-1, 1, tensor.shape[-1] - 1) >= tensor.narrow(-1, 0, tensor.shape[-1] - 1)).all())
