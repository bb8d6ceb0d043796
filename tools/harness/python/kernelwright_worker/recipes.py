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
from .trees import decode, encode, map_tensors, tensors_of

#: Leading dimensions are counted together until there are this many rows; as in the supervisor.
_ROWS = 64
#: How many single elements are stirred at most, and what numbers are reduced by to choose them; as in the supervisor.
_SPOTS, _PRIME = 512, (1 << 31) - 1
#: Bytes of a tensor up to which launching kernels costs more than what they do.
_SMALL = 16 << 20


@dataclass(frozen=True)
class Recipe:
    """Floating tensors times `scale`, then rolled by `roll` along their first dimension that is longer than one; or, where it is not 0, dense
    floating tensors with their last `rotate` rows in front, and then stirred by `stir`, both of which the supervisor can do by moving bytes."""

    scale: float = 1.0
    roll: int = 0
    rotate: int = 0
    stir: int = 0

    @classmethod
    def parse(cls, value: object) -> Recipe:
        """Reads the recipe of a request; null copies."""
        value = {} if value is None else value
        scale = value.get("scale", 1.0) if isinstance(value, dict) else None
        numbers = [value.get(name, 0) for name in ("roll", "rotate", "stir")] if isinstance(value, dict) else []
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or any(type(number) is not int for number in numbers):
            raise WorkerError("internal", "place", f"a recipe {value!r}")
        return cls(float(scale), *numbers)


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
    floating = _has_floating(tensors_of(inputs))
    return map_tensors(inputs, lambda tensor: _changed(tensor, recipe, floating, device))


def apply_each(inputs: list[Any], wanted: list[Recipe], device: torch.device) -> list[list[Any]]:
    """What `apply` gives for each recipe. On a GPU all calls' tensors are made in a few launches where they are small: thousands of calls would
    otherwise take longer to place than to time."""
    tensors: list[Tensor] = []
    tree = encode(inputs, tensors, lambda tensor: tensor)
    floating = _has_floating(tensors)
    columns = [
        _in_few_launches(tensor, wanted)
        if device.type == "cuda" and tensor.device == device and _is_small(tensor) and not any(recipe.rotate or recipe.stir for recipe in wanted)
        else [_changed(tensor, recipe, floating, device) for recipe in wanted]
        for tensor in tensors
    ]
    return [decode(tree, list(made)) for made in zip(*columns)] if columns else [decode(tree, []) for _ in wanted]


def _has_floating(tensors: list[Tensor]) -> bool:
    return any(can_scale(tensor) and tensor.numel() > 1 for tensor in tensors)


def _changed(tensor: Tensor, recipe: Recipe, floating: bool, device: torch.device) -> Tensor:
    """A tensor as one call has it; `floating` is whether its call has floating tensors."""
    if _is_rotated(tensor):
        return _moved_about(tensor, recipe, device) if recipe.rotate or recipe.stir else _in_one_pass(tensor, recipe, device)
    copy, elements = editable_copy(tensor, device)
    scaled = can_scale(tensor)
    if scaled and recipe.scale != 1.0:
        elements.detach().mul_(recipe.scale)
    rolled = scaled if floating else not _is_sorted(tensor)
    if rolled and recipe.roll and elements.dim() and elements.numel() > 1:
        elements.detach().copy_(torch.roll(elements.detach(), recipe.roll, _rolled_dimension(elements) if scaled else -1))
    return copy


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


def _is_small(tensor: Tensor) -> bool:
    """Whether its values twice in a row take next to no memory."""
    return _is_rotated(tensor) and tensor.numel() * tensor.dtype.itemsize <= _SMALL


def _in_few_launches(tensor: Tensor, wanted: list[Recipe]) -> list[Tensor]:
    """What `_in_one_pass` gives for each recipe: a dense tensor that is rolled lies in one piece in its values twice in a row."""
    source = tensor.detach()
    dimension = _rolled_dimension(source)
    length, step = source.shape[dimension], source.stride(dimension)
    flat = source.view(-1)
    twice = torch.cat([flat, flat])
    windows = [twice.as_strided(source.shape, source.stride(), flat.numel() - recipe.roll % length * step) for recipe in wanted]
    made = torch._foreach_mul(windows, [recipe.scale for recipe in wanted])
    return [one.requires_grad_(tensor.requires_grad) for one in made]


def _moved_about(tensor: Tensor, recipe: Recipe, device: torch.device) -> Tensor:
    """A dense tensor rotated and stirred."""
    copy = torch.empty_like(tensor.detach(), device=device)
    _write(copy.view(-1), tensor, recipe)
    return copy.requires_grad_(tensor.requires_grad)


def copy_into(window: Tensor, tensor: Tensor, recipe: Recipe) -> None:
    """Writes a tensor's values into bytes that are to hold one like it, rotated and stirred where it is dense and floating."""
    if _is_rotated(tensor) and (recipe.rotate or recipe.stir):
        _write(window.view(tensor.dtype), tensor, recipe)
    else:
        window.copy_(window_of(tensor.detach()))


def _write(to: Tensor, tensor: Tensor, recipe: Recipe) -> None:
    """Writes the elements of a dense tensor: its last rows in front, rows counted over as many of the leading dimensions as it takes to have
    `_ROWS` of them; then stirred."""
    flat = tensor.detach().view(-1)
    moved = _moved(tensor, recipe.rotate)
    to[moved:].copy_(flat[: flat.numel() - moved])
    to[:moved].copy_(flat[flat.numel() - moved :])
    if recipe.stir:
        _stir(to, flat, _rows(tensor), recipe.stir)


def _stir(to: Tensor, flat: Tensor, rows: int, stir: int) -> None:
    """Puts elements of `flat` in the place of others: a run of an eighth of all, then one in each of up to `_SPOTS` segments. Where they come from
    and go to follows from `stir`, in the same way as in the supervisor (`rotation.rs`)."""
    count = flat.numel()
    run = count // 8
    if run:
        source, target = (_mixed(stir, 0, kind) % (count - run + 1) for kind in (0, 1))
        to[target : target + run].copy_(flat[source : source + run])
    spots = min(rows, _SPOTS)
    segment = count // spots
    index = torch.arange(spots, device=flat.device)
    to[index * segment + _mixed(stir, index, 2) % segment] = flat[_mixed(stir, index, 3) % count]


def _mixed(stir: int, index: Any, kind: int) -> Any:
    """A number below 2^31 - 1 that follows from the three in no obvious way; of a tensor of indices, one for each."""
    mixed = (stir % _PRIME * 48271 + index * 69621 + kind * 16807 + 1) % _PRIME
    mixed = (mixed * mixed + 12345) % _PRIME
    return mixed * mixed % _PRIME


def _moved(tensor: Tensor, by: int) -> int:
    """How many elements come in front."""
    rows = _rows(tensor)
    return by % rows * (tensor.numel() // rows)


def _rows(tensor: Tensor) -> int:
    rows = 1
    for length in tensor.shape:
        if rows >= _ROWS:
            break
        rows *= length
    return rows


@dataclass(frozen=True)
class Rotation:
    """A tensor's window and how `rotate` moves it, for whoever copies it piece by piece."""

    address: int
    nbytes: int
    #: Of one row; 0 where rows are not moved.
    row: int
    rows: int

    @classmethod
    def of(cls, tensor: Tensor) -> Rotation:
        """That of a tensor, which has to outlive it."""
        window = window_of(tensor.detach())
        rows = _rows(tensor) if _is_rotated(tensor) else 1
        return cls(window.data_ptr(), window.numel(), window.numel() // rows if rows > 1 else 0, rows)

    def pieces(self, by: int) -> list[tuple[int, int, int]]:
        """What lies where: an offset in the rotated window, the address of what belongs there, and its bytes."""
        moved = by % self.rows * self.row
        split = self.nbytes - moved
        return [piece for piece in ((0, self.address + split, moved), (moved, self.address, split)) if piece[2]]


def _is_sorted(tensor: Tensor) -> bool:
    if tensor.dim() == 0 or tensor.shape[-1] < 2 or tensor.dtype == torch.bool or tensor.is_complex():
        return False
    if tensor.dtype == torch.uint64:
        # Unsigned types and floats of eight bits have no order of their own. Nothing is wider than these: as signed ones, with the sign bit turned.
        tensor = tensor.view(torch.int64) ^ torch.iinfo(torch.int64).min
    elif tensor.dtype in (torch.uint16, torch.uint32):
        tensor = tensor.to(torch.int64)
    elif tensor.is_floating_point() and tensor.dtype.itemsize == 1:
        tensor = tensor.to(torch.float32)
    return bool((tensor.narrow(-1, 1, tensor.shape[-1] - 1) >= tensor.narrow(-1, 0, tensor.shape[-1] - 1)).all())
