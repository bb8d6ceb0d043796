"""The inputs of timed calls, made from an entry's inputs by a recipe.

Both roles run this code on their own copies, so that the trusted side can compute what a timed call should have given without moving data.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .layout import WORDS, Layout, can_scale, editable_copy, fresh_copy, skew_of, window_of
from .structure import Structure
from .trees import decode, encode, map_tensors, tensors_of

# Bound now: a candidate may put another in its place.
_memmove = ctypes.memmove

#: Leading dimensions are counted together until there are this many rows; as in the supervisor.
_ROWS = 64
#: How many single elements are stirred at most, and what numbers are reduced by to choose them; as in the supervisor.
_SPOTS, _PRIME = 512, (1 << 31) - 1
#: On a GPU, where the supervisor writes nothing itself, one in every vector along the last dimension, up to so many: no row is one of another call's.
_MOST_SPOTS = 1 << 16
#: Bytes of a tensor up to which launching kernels costs more than what they do.
_SMALL = 16 << 20
#: So many indices torch leaves to one thread.
_IN_ORDER = 1 << 14
#: Bytes that torch's threads copy no sooner than one.
_OF_ONE_THREAD = 1 << 20


@dataclass(frozen=True)
class Recipe:
    """Floating tensors times `scale`, then rolled by `roll` along their first dimension that is longer than one; or, where it is not 0, dense
    floating tensors with their last `rotate` rows in front, and then stirred by `stir`, both of which the supervisor can do by moving bytes. A tensor
    with a structure is not rotated, and stirred only where that keeps it; a problem that has one asks for no `roll`. With `draw`, a seed, they are made
    from another draw of the entry's kind."""

    scale: float = 1.0
    roll: int = 0
    rotate: int = 0
    stir: int = 0
    draw: int = 0

    @classmethod
    def parse(cls, value: object) -> Recipe:
        """Reads the recipe of a request; null copies."""
        value = {} if value is None else value
        scale = value.get("scale", 1.0) if isinstance(value, dict) else None
        numbers = [value.get(name, 0) for name in ("roll", "rotate", "stir", "draw")] if isinstance(value, dict) else []
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or any(type(number) is not int for number in numbers):
            raise WorkerError("internal", "place", f"a recipe that cannot be read: {value!r}")
        return cls(float(scale), *numbers)


def _has_rows(tensor: Tensor) -> bool:
    """Whether rows of the tensor can be moved."""
    return can_scale(tensor) and tensor.dim() > 0 and tensor.is_contiguous() and tensor.numel() > 1


def apply(inputs: list[Any], recipe: Recipe, device: torch.device, structures: Sequence[Structure | None] = ()) -> list[Any]:
    """Fresh inputs in memory of their own; `structures` are those of their tensors.

    Integers and bools are only copied: they may be indices, offsets or masks. In a problem without floating inputs they are rolled all the
    same, or every timed call would see equal data; one whose values are sorted is left alone, because it is likely to hold offsets.
    """
    floating = _has_floating(tensors_of(inputs))
    known = iter(structures)
    return map_tensors(inputs, lambda tensor: _changed(tensor, recipe, floating, device, next(known, None)))


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
    return [decode(tree, list(made), records=True) for made in zip(*columns)] if columns else [decode(tree, [], records=True) for _ in wanted]


def _has_floating(tensors: list[Tensor]) -> bool:
    return any(can_scale(tensor) and tensor.numel() > 1 for tensor in tensors)


def _changed(tensor: Tensor, recipe: Recipe, floating: bool, device: torch.device, structure: Structure | None = None) -> Tensor:
    """A tensor as one call has it; `floating` is whether its call has floating tensors."""
    if (recipe.rotate or recipe.stir) and (structure is not None or _has_rows(tensor)):
        return _moved_about(tensor, recipe, device, structure)
    if _has_rows(tensor):
        return _in_one_pass(tensor, recipe, device)
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
    copy = _room_for(source, device)
    dimension = _rolled_dimension(source)
    length = source.shape[dimension]
    split = recipe.roll % length
    for start, count, to in ((0, length - split, split), (length - split, split, 0)):
        if count:
            torch.mul(source.narrow(dimension, start, count), recipe.scale, out=copy.narrow(dimension, to, count))
    return copy.requires_grad_(tensor.requires_grad)


def _room_for(tensor: Tensor, device: torch.device) -> Tensor:
    """Memory for a dense tensor like it; where that begins behind an aligned address, with its values."""
    return fresh_copy(tensor, device) if skew_of(tensor) else torch.empty_like(tensor, device=device)


def _is_small(tensor: Tensor) -> bool:
    """Whether its values twice in a row take next to no memory."""
    return _has_rows(tensor) and tensor.numel() * tensor.dtype.itemsize <= _SMALL


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


def _moved_about(tensor: Tensor, recipe: Recipe, device: torch.device, structure: Structure | None) -> Tensor:
    """A tensor rotated and stirred."""
    copy = _room_for(tensor.detach(), device) if _has_rows(tensor) else fresh_copy(tensor.detach(), device)
    write_each([window_of(copy)], tensor, [recipe], structure)
    return copy.requires_grad_(tensor.requires_grad)


def write_each(windows: list[Tensor], tensor: Tensor, wanted: list[Recipe], structure: Structure | None) -> None:
    """Writes a tensor's values into bytes that are to hold one like it, for each recipe; rotated and stirred where that can be."""
    if structure is None and not _has_rows(tensor):
        for window in windows:
            window.copy_(window_of(tensor.detach()))
        return
    moves = Moves.of(tensor, structure)
    flat, spots = words_of(tensor), moves.spots(wanted)
    if flat.device.type == windows[0].device.type == "cpu" and windows[0].numel() <= _OF_ONE_THREAD:
        starts = [window.data_ptr() for window in windows]
        _move_by_address(starts, flat, [moves.runs(recipe) for recipe in wanted])
        if spots is not None:
            _stir_by_address(starts, flat, spots, [recipe.stir != 0 for recipe in wanted])
        return
    # Taken apart once: to index for each of hundreds of calls takes longer than to write them.
    places, singles = (spots[0].unbind(0), flat[spots[1]].unbind(0)) if spots is not None else ((), ())
    for number, (window, recipe) in enumerate(zip(windows, wanted, strict=True)):
        to = window.view(flat.dtype)
        for place, source, count in moves.runs(recipe):
            to[place : place + count].copy_(flat[source : source + count])
        if places and recipe.stir:
            to.index_copy_(0, places[number], singles[number])


def _move_by_address(starts: list[int], flat: Tensor, runs: list[list[tuple[int, int, int]]]) -> None:
    """Moves runs of elements to windows on the host. Of small tensors, views would take several times as long as what is copied."""
    origin, unit = flat.data_ptr(), flat.itemsize
    for start, of_window in zip(starts, runs, strict=True):
        for place, source, count in of_window:
            _memmove(start + place * unit, origin + source * unit, count * unit)


def _stir_by_address(starts: list[int], flat: Tensor, spots: tuple[Tensor, Tensor], stirs: list[bool]) -> None:
    """Puts single elements into those windows that are to be stirred, of all of them at once. In their order: places with a structure may come twice."""
    first, unit = min(starts), flat.itemsize
    # From the first window to the end of the last, whatever lies between them: nothing but the spots is written.
    around = torch.frombuffer((ctypes.c_char * (max(starts) - first + flat.numel() * unit)).from_address(first), dtype=flat.dtype)
    begin = torch.tensor([(start - first) // unit for start in starts]).unsqueeze(1)
    chosen = torch.tensor(stirs)
    places, values = (begin + spots[0])[chosen].flatten(), flat[spots[1][chosen]].flatten()
    for piece in range(0, len(places), _IN_ORDER):
        around.index_copy_(0, places[piece : piece + _IN_ORDER], values[piece : piece + _IN_ORDER])


def words_of(tensor: Tensor) -> Tensor:
    """The window of a tensor as a flat one of a type of the same size that can be indexed, whatever its own is."""
    return window_of(tensor.detach()).view(WORDS[tensor.dtype.itemsize])


@dataclass(frozen=True)
class Moves:
    """How recipes move the elements of a tensor. Rows are counted over as many of the leading dimensions as it takes to have `_ROWS` of them."""

    #: Elements of `unit` bytes each, gaps included; a tensor whose elements are not moved is one of them.
    count: int
    unit: int
    rows: int
    #: How many single elements are stirred, unless there are fewer.
    singles: int
    structure: Structure | None
    device: torch.device

    @classmethod
    def of(cls, tensor: Tensor, structure: Structure | None) -> Moves:
        """Those of a tensor; none where its elements are not to be moved at all."""
        nbytes, unit = Layout.of(tensor).nbytes, tensor.dtype.itemsize
        if structure is not None or _has_rows(tensor):
            return cls(nbytes // unit, unit, _rows(tensor), _singles(tensor), structure, tensor.device)
        return cls(min(nbytes, 1), nbytes, 1, 0, None, tensor.device)

    def runs(self, recipe: Recipe) -> list[tuple[int, int, int]]:
        """Elements that stay together: where they go to, where they come from, and how many. Later ones lie over earlier ones: the last rows in front of
        the others, then an eighth of all somewhere else."""
        if self.structure is not None:
            return [(0, 0, self.count)] if self.count else []
        moved = recipe.rotate % self.rows * (self.count // self.rows)
        runs = [(0, self.count - moved, moved), (moved, 0, self.count - moved)]
        length = self.count // 8
        if recipe.stir and self.rows > 1:
            source, target = (_mixed(recipe.stir, 0, kind) % (self.count - length + 1) for kind in (0, 1))
            runs.append((target, source, length))
        return [run for run in runs if run[2]]

    def spots(self, wanted: list[Recipe]) -> tuple[Tensor, Tensor] | None:
        """Single elements for each recipe that stirs: where they go to and where they come from, over what `runs` has put there; one in each of up to
        `singles` segments. In the same way as in the supervisor (`rotation.rs`)."""
        among = self.count if self.structure is None else self.structure.places.shape[1]
        spots = self.singles if self.structure is None else min(among, _SPOTS)
        if not any(recipe.stir for recipe in wanted) or spots < 1 or self.structure is None and self.rows < 2:
            return None
        stir = torch.tensor([[recipe.stir] for recipe in wanted], device=self.device)
        index = torch.arange(spots, device=self.device)
        segment = among // spots
        to, source = index * segment + _mixed(stir, index, 2) % segment, _mixed(stir, index, 3) % among
        if self.structure is None:
            return to, source
        places, mirrors = self.structure.places, self.structure.mirrors
        group = _mixed(stir, 0, 4) % places.shape[0]
        return torch.cat([places[group, to], mirrors[group, to]], 1), torch.cat([places[group, source]] * 2, 1)


def _mixed(stir: Any, index: Any, kind: int) -> Any:
    """A number below 2^31 - 1 that follows from the three in no obvious way; of tensors, one for each of their elements."""
    mixed = (stir % _PRIME * 48271 + index * 69621 + kind * 16807 + 1) % _PRIME
    mixed = (mixed * mixed + 12345) % _PRIME
    return mixed * mixed % _PRIME


def _rows(tensor: Tensor) -> int:
    rows = 1
    for length in tensor.shape:
        if rows >= _ROWS:
            break
        rows *= length
    return rows


def _singles(tensor: Tensor) -> int:
    few = min(_rows(tensor), _SPOTS)
    if tensor.device.type != "cuda" or not tensor.dim() or not tensor.numel():
        return few
    return max(few, min(tensor.numel() // tensor.shape[-1], _MOST_SPOTS))


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
