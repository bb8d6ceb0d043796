"""Integers of which it is known how they were drawn: each one by itself, and any within a range.

The problem's own function says so where it returns what `torch.randint` gave. Then any such numbers are inputs that it may give, and those that tell
most come in a draw of their own: the first and the last (a word taken for padding, a length of zero), multiples of the sizes that blocks have, what is
just below a power of two, and the same ones several times (updates of one place that are lost). By chance they may come once in thousands of draws.
What never comes is a row of nothing but the first, or the last, or an image that has neither; and where there are so many that all come anyway, the same extreme one in nearly all of
a row or column, which is what sums of them have to hold.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .layout import editable_copy, indices_of
from .records import members
from .trees import map_tensors, tensors_of

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
#: Of fewer numbers all come anyway, and more draws of one range than this for each of its numbers have all of them.
_FEWEST, _OFTEN = 3, 16
#: Of each dimension this part has the largest number of a range in nearly all places, of an only one half; these many stay what they were.
_EXTREME, _EXTREME_ALONE, _STAYS = 4, 2, 1 / 32
#: Of so many rows two hold one number each.
_FEWEST_ROWS = 8
#: Of many numbers half are those that tell most, of up to so many all but these: they may be the borders of parts, which then are as large and as small as
#: they can be.
_FEW, _OTHERS_OF_FEW, _OTHERS = 256, 1 / 16, 1 / 2
#: What of a range of so many numbers or more is neither near its first nor its last, as parts of it: an image without black or white.
_WIDE, _INNER = 8, (1 / 4, 1 / 2)
#: So many of the whole numbers in a problem's file are drawn as often as others that tell.
_NUMBERS, _NAMED = re.compile(r"(?<![\w.])\d{1,12}(?:_\d{3}){0,3}(?![\w.])", re.ASCII), 8
#: Blocks have this size, or a multiple of it.
_BLOCK = 64
#: What leaves the numbers what they are.
_SAME = (Tensor.to, Tensor.int, Tensor.long, Tensor.short, Tensor.clone, Tensor.contiguous, Tensor.view, Tensor.reshape, Tensor.unsqueeze)


@dataclass(frozen=True)
class Range:
    """From `low` up to `high`, which is not in it."""

    low: int
    high: int
    #: Numbers in it that the problem's file names: what is ignored, say.
    named: tuple[int, ...] = ()

    def telling(self, numbers: random.Random) -> list[int]:
        """The numbers that tell most, those first that tell more."""
        some = [numbers.randrange(self.low, self.high) for _ in range(4)]
        power = 1 << max(self.high.bit_length() - 1, 0)
        wanted = [self.low, self.high - 1, *self.named, some[0] // _BLOCK * _BLOCK, power - 1, some[1] // (2 * _BLOCK) * 2 * _BLOCK, *some[2:]]
        return [number for number in dict.fromkeys(wanted) if self.low <= number < self.high]

    def largest(self) -> int:
        """The one furthest from zero."""
        return max(self.low, self.high - 1, key=abs)


@dataclass(frozen=True)
class _Drawn:
    """A tensor that was drawn, or the same numbers in another form: those of one draw have its number."""

    tensor: Tensor
    range: Range
    draw: int


class Watch(TorchFunctionMode):
    """Sees integers drawn, as long as nothing else is made of them: a mask that follows from lengths would no longer fit."""

    def __init__(self) -> None:
        super().__init__()
        self._known: list[_Drawn] = []
        self._draws = 0

    def __torch_function__(self, function: Any, _types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        used = []
        # Reading what a tensor is, such as its shape, makes nothing of it.
        if self._known and getattr(function, "__name__", "") != "__get__":
            given = list(_tensors([*arguments, *named.values()]))
            used = [drawn for drawn in self._known if any(_share(drawn.tensor, tensor) for tensor in given)]
            if used and function not in _SAME:
                gone = {drawn.draw for drawn in used}
                self._known = [drawn for drawn in self._known if drawn.draw not in gone]
        result = function(*arguments, **named)
        if function is torch.randint and (range_ := _range_of(*arguments, **named)):
            self._draws += 1
            self._known.append(_Drawn(result, range_, self._draws))
        elif used and function in _SAME and result.dtype in INTEGERS:
            self._known.append(_Drawn(result, used[0].range, used[0].draw))
        return result

    def of(self, tensors: list[Tensor], source: str = "") -> tuple[Range | None, ...]:
        """The range of each tensor's numbers, if all of it was drawn from one, and no other of them was drawn with it; `source` is the problem's file."""
        drawn = [self._drawn(tensor) for tensor in tensors]
        times = Counter(one.draw for one in drawn if one)
        named = dict.fromkeys(int(number) for number in _NUMBERS.findall(source))
        return tuple(_naming(one.range, named) if one and times[one.draw] == 1 else None for one in drawn)

    def _drawn(self, tensor: Tensor) -> _Drawn | None:
        return next((drawn for drawn in self._known if _share(drawn.tensor, tensor) and drawn.tensor.numel() == tensor.numel()), None)


def _naming(range_: Range, named: Iterable[int]) -> Range:
    """The range with those numbers in it that a file names, but for its ends."""
    return replace(range_, named=tuple(islice((number for number in named if range_.low < number < range_.high - 1), _NAMED)))


def _range_of(*arguments: Any, low: Any = None, high: Any = None, **_named: Any) -> Range | None:
    bounds = [bound for bound in arguments if isinstance(bound, int)]
    high = high if high is not None else bounds.pop() if bounds else None
    low = low if low is not None else bounds.pop() if bounds else 0
    return Range(low, high) if isinstance(low, int) and isinstance(high, int) else None


def _tensors(values: list[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        else:
            yield from _tensors(list(members(value) or ()))


def _share(one: Tensor, another: Tensor) -> bool:
    return another.layout is torch.strided and one.untyped_storage().data_ptr() == another.untyped_storage().data_ptr()


def tell(inputs: list[Any], ranges: tuple[Range | None, ...]) -> bool:
    """Whether numbers of a known range may stand where they never do by chance."""
    tensors = tensors_of(inputs)
    return len(tensors) == len(ranges) and any(range_ is not None and _tells(tensor, range_) for tensor, range_ in zip(tensors, ranges))


def _tells(tensor: Tensor, range_: Range) -> bool:
    return tensor.dtype in INTEGERS and range_.high - range_.low >= _FEWEST and tensor.numel() > 0


def ranged(inputs: list[Any], device: torch.device, seed: int, ranges: tuple[Range | None, ...]) -> list[Any]:
    """Half of the integers are those that tell most, of few nearly all; of very few, as many as there are of these. Where all come anyway, part of each
    dimension is the largest."""
    numbers, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    known = iter(ranges)

    def changed(tensor: Tensor) -> Tensor:
        copy, elements = editable_copy(tensor, device)
        range_ = next(known, None)
        if range_ is None or not _tells(tensor, range_):
            return copy
        count = elements.numel()
        if count >= _OFTEN * (range_.high - range_.low):
            # Some stay: what all products of one size add up to may be exact by chance.
            stays = (torch.rand(elements.shape, generator=generator) < _STAYS).to(device)
            drawn = elements.clone()
            for dimension, length in enumerate(elements.shape):
                part = length // (_EXTREME if elements.dim() > 1 else _EXTREME_ALONE)
                elements.narrow(dimension, numbers.randrange(length - part + 1), part).fill_(range_.largest())
            elements.copy_(torch.where(stays, drawn, elements))
            _fill_slices(elements, range_, numbers, generator)
            return copy
        telling = torch.tensor(range_.telling(numbers))
        if count <= 2 * telling.numel():
            chosen = torch.randperm(count, generator=generator)[: telling.numel()]
            elements[indices_of(chosen, elements.shape)] = telling[: chosen.numel()].to(device, elements.dtype)
            return copy
        values = telling[torch.randint(telling.numel(), elements.shape, generator=generator)].to(device, elements.dtype)
        others = torch.rand(elements.shape, generator=generator) < (_OTHERS_OF_FEW if count <= _FEW else _OTHERS)
        elements.copy_(torch.where(others.to(device), elements, values))
        if count <= _FEW and elements.dim() == 1:
            _leave_a_gap(elements, range_, numbers)
        _fill_slices(elements, range_, numbers, generator)
        return copy

    return map_tensors(inputs, changed)


def _leave_a_gap(elements: Tensor, range_: Range, numbers: random.Random) -> None:
    """Makes numbers in some quarter of the range the number before it: the part between two borders is as large as that. Not where the only ones would go
    that the problem's file names."""
    width = (range_.high - range_.low) // 4
    begin = numbers.randrange(range_.low, range_.high - width)
    if not any(begin < number < begin + width for number in range_.named):
        elements[(elements > begin) & (elements < begin + width)] = begin


def _fill_slices(elements: Tensor, range_: Range, numbers: random.Random, generator: torch.Generator) -> None:
    """One row holds nothing but the first number, and one nothing but the last: of words, nothing but padding. Of several slices along the first dimension
    another one has none of the numbers near the ends."""
    slices = elements.shape[0] if elements.dim() > 1 else 1
    inner = numbers.randrange(slices) if slices > 1 and range_.high - range_.low >= _WIDE else None
    if inner is not None:
        part = elements[inner]
        low, high = (range_.low + int((range_.high - range_.low) * end) for end in _INNER)
        part.copy_(torch.randint(low, high, part.shape, generator=generator).to(part.device, part.dtype))
    rows = elements.numel() // elements.shape[-1] if elements.dim() > 1 else 1
    if rows >= _FEWEST_ROWS:
        others = [row for row in range(rows) if row * slices // rows != inner]
        for row, number in zip(numbers.sample(others, 2), (range_.low, range_.high - 1)):
            elements[indices_of(torch.tensor([row]), elements.shape[:-1])] = number
