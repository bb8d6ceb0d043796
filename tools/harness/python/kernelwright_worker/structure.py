"""What an input is in every draw, and which of its elements can be moved about so that it stays that.

Triangular or otherwise zero in the same places, symmetric, in ascending order, one of two numbers everywhere, rows of length one, of probabilities or of two
equal halves: kernels are written for it, as they are for a shape, so other draws and timed calls keep it. Other values say nothing of the kind: that all of them
are positive, or that a whole input is the same every time, is no reason to rely on it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from .layout import WORDS, can_scale, indices_of, overlaps
from .ranges import Range
from .trees import tensors_of

#: Places of which elements are moved about, at most.
_MOST_PLACES = 4096
#: Columns of integers of which one is moved about at a time, at most.
_MOST_COLUMNS = 64
#: One zero in so many may be so by chance: numbers drawn from 0 to 1 are zero now and then.
_BY_CHANCE = 256
#: Fewer values than this come in ascending order by chance.
_FEWEST_IN_ORDER = 4
#: Of fewer elements it says nothing that they are all one of two numbers, and of so many it is seen that they are not.
_FEWEST_OF_TWO, _LOOKED_AT = 16, 4096
#: By how much a row's norm may be off one, at most.
_OFF_ONE = 0.02


@dataclass(frozen=True)
class Structure:
    """What a tensor is in every draw, and how it is moved about where that is not by rows and runs."""

    shape: torch.Size
    strides: tuple[int, ...]
    #: Of an element, in bytes.
    unit: int
    #: Elements that may take each other's values, counted in its window as it lies in memory, and the mirror image of each; itself where there is none.
    #: Each row is a group of its own; what moves elements about takes one of the groups.
    places: Tensor
    mirrors: Tensor
    #: Where it is zero, if there are such places.
    zeros: Tensor | None = None
    #: Its last two dimensions can be exchanged.
    symmetric: bool = False
    #: Along its last dimension.
    ascending: bool = False
    #: No two of a row are the same.
    strictly: bool = False
    #: The numbers of which every element is one, as those of a mask or of signs are; none where it may be any.
    either: tuple[float, ...] = ()
    #: Which norm of each row, along the last dimension, is one: the first where nothing is below zero, the second, or none.
    norm: int = 0
    #: The second half of each row is the first one again, as tables for rotations have it.
    doubled: bool = False

    @property
    def scales(self) -> bool:
        """Whether it stays what it is when it is multiplied by a number."""
        return not self.either and not self.norm

    def restore(self, changed: Tensor, before: Tensor) -> None:
        """Makes what was changed again what it has to be, with as much of the change as possible."""
        if self.either:
            changed.copy_(before)
            return
        if self.symmetric:
            moved = changed != before
            lower = torch.ones(changed.shape[-2:], dtype=torch.bool, device=changed.device).tril(-1)
            taken = moved.mT & (lower | ~moved)
            changed.copy_(torch.where(taken, changed.mT, changed))
        if self.zeros is not None:
            changed.masked_fill_(self.zeros, 0)
        if self.ascending:
            # A NaN has no place in an order.
            changed.copy_(torch.where(changed.isfinite(), changed, before).sort(dim=-1).values)
            if self.strictly:
                # Kernels divide by how far neighbours are apart.
                tied = (changed.diff(dim=-1) <= 0).any(-1, keepdim=True)
                changed.copy_(torch.where(tied, before, changed))
        if self.doubled:
            half = changed.shape[-1] // 2
            changed[..., half:] = changed[..., :half]
        if self.norm:
            self._normalise(changed, before)

    def _normalise(self, changed: Tensor, before: Tensor) -> None:
        if self.norm == 1:
            changed.abs_()
        norms = torch.linalg.vector_norm(changed, self.norm, dim=-1, keepdim=True, dtype=torch.float64)
        normalised = torch.where(norms.isfinite(), changed / norms, changed).to(changed.dtype)
        # Zeros alone have no direction.
        changed.copy_(torch.where(norms == 0, before, normalised))

    def free(self) -> Tensor | None:
        """The elements that need not be zero, by index; None where all need not."""
        return None if self.zeros is None else (~self.zeros).nonzero()

    def to_json(self) -> dict[str, Any]:
        """What a supervisor has to know that only moves bytes, and of tensors of which form."""
        places = {"elements": self.places.flatten().tolist(), "mirrors": self.mirrors.flatten().tolist(), "groups": self.places.shape[0]}
        return {**places, "scales": self.scales, "unit": self.unit, "shape": list(self.shape), "strides": list(self.strides)}

    def told(self) -> str:
        """What the tensor is, in words; empty where it is nothing that a kernel could rely on."""
        named = [
            "" if self.zeros is None else f"zero in the same {100 * self.zeros.double().mean().item():.3g} % of its places",
            "symmetric" if self.symmetric else "",
            "in ascending order" if self.ascending else "",
            " or ".join(f"{number:g}" for number in self.either) + (" everywhere" if self.either else ""),
            ("", "made of rows of probabilities", "made of rows of length one")[self.norm],
            "made of rows of two equal halves" if self.doubled else "",
        ]
        return " and ".join(filter(None, named))


def find(inputs: list[Any], again: Callable[[], list[Any]], ranges: Sequence[Range | None] = ()) -> list[Structure | None]:
    """What each tensor of a draw is in another one as well, which is only made where it may be something. None where any element may be moved anywhere,
    and for integers beside floating inputs, which make calls different enough; not those of which it is known that each was drawn by itself: what is
    made of them would otherwise serve all calls."""
    tensors = [tensor.detach() for tensor in tensors_of(inputs)]
    drawn = list(ranges) if len(ranges) == len(tensors) else [None] * len(tensors)
    freely = [_freely(tensor) if range_ and tensor.numel() > 1 and not overlaps(tensor) else None for tensor, range_ in zip(tensors, drawn)]
    has_floats = any(can_scale(tensor) and tensor.numel() > 1 for tensor in tensors)
    if not any(tensor.numel() > 1 and (not has_floats or _suspected(tensor)) for tensor in tensors):
        return freely
    others = [tensor.detach() for tensor in tensors_of(again())]
    if [(one.shape, one.stride(), one.dtype) for one in tensors] != [(one.shape, one.stride(), one.dtype) for one in others]:
        return [None] * len(tensors)
    values = list(map(_values, tensors, others))
    # Beside masks alone calls would not be different.
    are_free = any(can_scale(tensor) and tensor.numel() > 1 and not known for tensor, known in zip(tensors, values))
    found = zip(freely, tensors, others, values)
    return [free or (_of(one, other, known, are_free) if one.numel() > 1 else None) for free, one, other, known in found]


def _of(first: Tensor, second: Tensor, values: dict[str, Any], are_free: bool) -> Structure | None:
    """What a tensor is. Where no floating input is free to be moved about, others have to make calls different enough."""
    if not are_free:
        found = _integers(first, second) if not values or "either" in values and not _have_as_many(first) else None
        return replace(found, **values) if found is not None and (found.places.numel() or not values) else _floats(first, second)
    found = _floats(first, second)
    if not values or found is not None and (found.symmetric or found.ascending):
        return found
    nowhere = torch.empty(1, 0, dtype=torch.int64, device=first.device)
    return replace(found or _over(first, nowhere, nowhere), places=nowhere, mirrors=nowhere, **values)


def fitting(structures: list[Structure | None], inputs: list[Any]) -> list[Structure | None]:
    """Those of the tensors of one draw: shapes may depend on chance."""
    tensors = tensors_of(inputs)
    if len(tensors) != len(structures):
        return [None] * len(tensors)
    return [
        known if known is not None and (known.shape, known.strides) == (tensor.shape, tensor.stride()) else None
        for known, tensor in zip(structures, tensors)
    ]


def _suspected(tensor: Tensor) -> bool:
    if not can_scale(tensor):
        return False
    some = not tensor.is_contiguous() or _is_symmetric(tensor) or _is_ascending(tensor) or bool((tensor == 0).any())
    return some or len(_numbers(tensor)) == 2 or norm_of_rows(tensor) > 0 or _is_doubled(tensor)


def _numbers(tensor: Tensor) -> tuple[float, ...]:
    """The numbers of which every element of a floating tensor is one, in order, if there are one or two."""
    if not can_scale(tensor) or tensor.is_complex() or tensor.numel() < _FEWEST_OF_TWO or overlaps(tensor):
        return ()
    # Looked at on the host: a GPU would have to load kernels for it, which takes longer.
    for part in (tensor.view(-1)[:_LOOKED_AT].cpu() if tensor.is_contiguous() else tensor, tensor):
        ends = part.aminmax()
        if not bool(((part == ends.min) | (part == ends.max)).all()):
            return ()
    return tuple(sorted({float(ends.min), float(ends.max)}))


def _values(first: Tensor, second: Tensor) -> dict[str, Any]:
    """What two draws of a floating tensor have in common beside places; nothing of numbers where the draws are the same: what never changes has to be read."""
    known: dict[str, Any] = {}
    if _is_doubled(first) and _is_doubled(second):
        known["doubled"] = True
    if first.numel() > 1 and can_scale(first) and not torch.equal(first, second):
        numbers, norm = _numbers(first), norm_of_rows(first)
        if len(numbers) == 2 and numbers == _numbers(second):
            known["either"] = numbers
        elif norm and norm == norm_of_rows(second):
            known["norm"] = norm
    return known


def _is_doubled(tensor: Tensor) -> bool:
    if not can_scale(tensor) or not tensor.dim() or tensor.numel() < 2 * _FEWEST_OF_TWO or tensor.shape[-1] % 2 or overlaps(tensor):
        return False
    # Of most inputs the first row has no such halves, and of what holds one or two numbers they say nothing.
    pairs = (part.unflatten(-1, (2, -1)).unbind(-2) for part in (_first_row(tensor), tensor))
    return all(torch.equal(*halves) for halves in pairs) and not _numbers(tensor)


def _first_row(tensor: Tensor) -> Tensor:
    return tensor[(0,) * (tensor.dim() - 1)].cpu()


def norm_of_rows(tensor: Tensor) -> int:
    """The norm that is one in every row along the last dimension, zero if none is: the first of probabilities, where nothing is below zero, or the second. Of
    numbers that only happen to be positive, sums are not."""
    if not can_scale(tensor) or tensor.is_complex() or not tensor.numel() or not tensor.dim() or tensor.shape[-1] < 2 or overlaps(tensor):
        return 0
    off = min(torch.finfo(tensor.dtype).eps * tensor.shape[-1], _OFF_ONE)

    def is_one(norm: int) -> bool:
        # Of most inputs the first row's is not.
        rows = (_first_row(tensor), tensor)
        return all(bool(((torch.linalg.vector_norm(some, norm, dim=-1, dtype=torch.float64) - 1).abs() <= off).all()) for some in rows)

    return 1 if is_one(1) and bool((tensor >= 0).all()) else 2 if is_one(2) else 0


def _have_as_many(tensor: Tensor) -> bool:
    """Whether every row of a tensor of two numbers has as many of either, as one has in which some are chosen."""
    counts = (tensor == tensor.max()).sum(-1).flatten()
    return len(counts) > 1 and bool((counts == counts[0]).all())


def _floats(first: Tensor, second: Tensor) -> Structure | None:
    """The structure of a floating tensor: what it is, or that there are gaps between its elements."""
    if not can_scale(first):
        return None
    zeros = _zeros(first, second)
    symmetric = all(_is_symmetric(tensor) for tensor in (first, second))
    ascending = all(_is_ascending(tensor) for tensor in (first, second))
    strictly = ascending and all(bool((tensor.diff(dim=-1) > 0).all()) for tensor in (first, second))
    # What is the same every time may be a mask or a table, and has to be read.
    if torch.equal(first, second):
        zeros, symmetric = None, False
    # Other draws change what shares memory at once, without knowing which element it is.
    if overlaps(first):
        zeros, symmetric, ascending = None, False, False
    if zeros is None and not symmetric and not ascending and first.is_contiguous():
        return None
    allowed = torch.full(first.shape, not ascending, device=first.device)
    if zeros is not None:
        allowed &= ~zeros
    if symmetric:
        allowed = allowed.triu()
    places = _some(allowed.view(-1).nonzero().view(-1), _MOST_PLACES)[None]
    mirrors = places
    if symmetric:
        side = first.shape[-1]
        row, column = places // side % side, places % side
        mirrors = places + (column - row) * side + (row - column)
    return _over(first, places, mirrors, zeros, symmetric, ascending, strictly)


def _zeros(first: Tensor, second: Tensor) -> Tensor | None:
    """Where both are zero, if that is not everywhere, and few others are zero in one of them."""
    one, other = first == 0, second == 0
    zeros = one & other
    count = int(zeros.sum())
    return zeros if 0 < count < zeros.numel() and _BY_CHANCE * int((one ^ other).sum()) <= count else None


def _integers(first: Tensor, second: Tensor) -> Structure:
    """That of integers, bools and other values without arithmetic, in a problem that has only such inputs.

    They may be indices, so they stay in their column: another column may be that of another table. Where none comes twice they may have to be
    different, and where they are in order, offsets: such ones are not moved.
    """
    words = [tensor.contiguous().view(WORDS[tensor.dtype.itemsize]) for tensor in (first, second)]
    places = torch.empty(1, 0, dtype=torch.int64, device=first.device)
    if all(not _is_ascending(word) and _repeats(word, -1) and (_rows(word) == 1 or _repeats(word, 0)) for word in words):
        columns = first.shape[-1] if _rows(first) > 1 else 1
        # Elements that share memory do so across columns.
        some = _some(torch.arange(columns), 1 if overlaps(first) else _MOST_COLUMNS)
        rows = _some(torch.arange(first.numel() // columns), _MOST_PLACES // some.numel())
        places = (some[:, None] + rows * columns).to(first.device)
    return _over(first, places, places)


def _freely(tensor: Tensor) -> Structure:
    """That of numbers of which any may stand anywhere: some places in one group."""
    chosen = random.SystemRandom().sample(range(tensor.numel()), min(tensor.numel(), _MOST_PLACES))
    places = torch.tensor(sorted(chosen), device=tensor.device)[None]
    return _over(tensor, places, places)


def _rows(tensor: Tensor) -> int:
    return tensor.numel() // tensor.shape[-1]


def _repeats(words: Tensor, dimension: int) -> bool:
    """Whether some value comes twice along a dimension; the first is that of all rows."""
    ordered = (words if dimension == -1 else words.reshape(-1, words.shape[-1]).mT).sort(dim=-1).values
    return bool((ordered[..., 1:] == ordered[..., :-1]).any())


def _some(places: Tensor, most: int) -> Tensor:
    """Some of many places; which ones nobody knows who only knows the problem."""
    if places.numel() <= most:
        return places
    chosen = random.SystemRandom().sample(range(places.numel()), most)
    return places[torch.tensor(sorted(chosen), device=places.device)]


def _over(tensor: Tensor, places: Tensor, mirrors: Tensor, *what: Any) -> Structure:
    """The structure of a tensor with these places, counted in the order of its elements."""
    places, mirrors = torch.stack([_in_window(tensor, counted) for counted in (places, mirrors)])
    if overlaps(tensor):
        # Elements that share memory are one place.
        places, mirrors = torch.stack([places, mirrors]).unique(dim=-1)
    return Structure(tensor.shape, tensor.stride(), tensor.dtype.itemsize, places, mirrors, *what)


def _in_window(tensor: Tensor, counted: Tensor) -> Tensor:
    indices = indices_of(counted, tensor.shape)
    return sum((index * stride for index, stride in zip(indices, tensor.stride())), torch.zeros_like(counted))


def _is_symmetric(tensor: Tensor) -> bool:
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    return torch.equal(tensor, tensor.mT)


def _is_ascending(tensor: Tensor) -> bool:
    if tensor.is_complex() or tensor.dim() == 0 or tensor.shape[-1] < _FEWEST_IN_ORDER:
        return False
    count = tensor.shape[-1]
    if not bool((tensor[..., 0] < tensor[..., -1]).all()):
        return False
    return bool((tensor.narrow(-1, 1, count - 1) >= tensor.narrow(-1, 0, count - 1)).all())
