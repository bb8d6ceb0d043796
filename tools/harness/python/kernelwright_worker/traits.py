"""What two draws show of inputs beside their structure, and the draws that change what all others leave as it is.

Inputs that are the same in every draw (`filled`), masks (`masked`), integers (`skewed`, `lower`, `wide`, `ranged`) and those of which outputs name the
largest (`tied`): a flag may be left unread, a row without anything in it may be divided by, there may be room for as much as there usually is, a part may
be taken for one that is never empty, sums may run over, the first place may be taken for none, and of equal elements the wrong one may be named. A problem
that has no such inputs has no such draws.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import lengths
from .lengths import Borders, Lengths
from .layout import can_scale, editable_copy, indices_of, same_bits
from .ranges import INTEGERS, Range, ranged, tell
from .structure import Structure, norm_of_rows
from .ties import Extreme, tied
from .trees import floats_of, map_floats, map_tensors, tensors_of

#: Integers that are the same in every draw are shuffled if there are so many.
_MANY_INTEGERS = 16
#: So many rows of them are the ends of edges, or coordinates: shuffled alike they would be the same edges.
_ENDS = (2, 3)
#: Integers that count from place to place, such as positions and page numbers, come in another order if there are so many in a row.
_MANY_COUNTED = 8
#: Borders that are this far apart can be moved and stay in order.
_LEAST_STEP = 3
#: Of so many that are moved the first and the last may stay.
_INNER_BORDERS = 6
#: What is added to scores to close a place is no larger than this; of so many rows it is no chance what they have in common.
_CLOSES, _MANY_ROWS = -1e3, 32
#: A mask has so many rows, or more: one of them is made empty, one in so many full, and most stay.
_FEWEST_ROWS, _FULL = 4, 8
#: Of so many rows two are made empty up to an end.
_FEWEST_PADDED = 6
#: Integers are skewed in rows of so many or more, towards so many places: fewer may be lengths, and what depends on them would no longer fit.
_FEWEST_SKEWED, _PLACES = 64, 4
#: Integers are numbers, and neither indices nor lengths, if one in so many is below zero, and so many different ones are: one or two, such as -1 and -100,
#: stand for none of them.
_NUMBERS, _DIFFERENT = 8, 4
#: What the largest of them comes to, in bits: sums of some dozens no longer fit 32 of them, nor do those of a few squares of 16, and what is longer already
#: does not by itself.
_WIDTHS = {torch.int16: 15, torch.int32: 28, torch.int64: 33}
#: Integers of so many bits are no indices either: any others may take their place.
_BITS_OF_INDICES = 40


@dataclass(frozen=True)
class Mask:
    """What the rows of a mask, along its last dimension, have in common in every draw."""

    always: Tensor
    never: Tensor
    #: What closes a place where a mask is added to scores; None for bools.
    closed: float | None = None
    #: Whether what is false may begin its rows, and end them: one of them where that is so in all rows of every draw, as lengths have it.
    padded: tuple[bool, bool] = (True, True)


@dataclass(frozen=True)
class Traits:
    """What two draws have in common, for the tensors and the floats of the inputs in the order of the tree."""

    #: Which are the same in every draw.
    constant: tuple[bool, ...] = ()
    constant_floats: tuple[bool, ...] = ()
    #: Which of them are one whole number, and tell nothing of what others are.
    numbers: tuple[bool, ...] = ()
    #: Which of them may be lengths, or borders.
    lengths: tuple[Lengths | Borders | None, ...] = ()
    #: Whose rows are probabilities: none is below zero, and they add up to one.
    probabilities: tuple[bool, ...] = ()
    #: Bools of which a row may be empty, or full; and what is added to scores and closes places of them.
    masks: tuple[Mask | None, ...] = ()
    #: The dimension along which integers may take those of other places.
    skews: tuple[int | None, ...] = ()
    #: By how much integers can be lowered together that are never below two, as lengths are that leave no part empty; zero where there are none.
    lowers_by: int = 0
    #: Which of their elements: all but the largest where it is the same in every draw, as the end of the last part is.
    lowered: tuple[Tensor | None, ...] = ()
    #: By what integers can be multiplied that are evidently numbers; zero for those that may be any bits, one for all others.
    widens: tuple[int, ...] = ()
    #: By how much integers count from place to place along their last dimension, in every draw; zero for all others.
    counts: tuple[int, ...] = ()
    #: Of which outputs name the largest or smallest elements.
    extremes: tuple[Extreme | None, ...] = ()
    #: From what ranges integers were drawn.
    ranges: tuple[Range | None, ...] = ()

    @classmethod
    def of(cls, first: list[Any], second: list[Any]) -> Traits:
        """Those of two draws; none where their forms differ."""
        tensors, floats = (tensors_of(first), tensors_of(second)), (floats_of(first), floats_of(second))
        constant_floats = tuple(a == b for a, b in zip(*floats)) if len(floats[0]) == len(floats[1]) else ()
        if [tensor.shape for tensor in tensors[0]] != [tensor.shape for tensor in tensors[1]]:
            return cls(constant_floats=constant_floats)
        lowered, counts = _lowered(*tensors), tuple(map(_counts, *tensors))
        found = lengths.find(*tensors, counts)
        # A number beside them that is the largest of them may tell what they are at most.
        told = {one.longest for one in found if one}
        lowest = [int(torch.minimum(*pair).min()) for pair, some in zip(zip(*tensors), lowered) if some is not None]
        return cls(
            tuple(map(same_bits, *tensors)),
            constant_floats,
            tuple(_is_number(tensor) and int(tensor) not in told and not _is_told(int(tensor), *tensors) for tensor in tensors[0]),
            found,
            tuple(all(norm_of_rows(tensor.detach()) == 1 for tensor in pair) for pair in zip(*tensors)),
            tuple(map(_mask, *tensors)),
            _skews(*tensors),
            min(lowest, default=1) - 1,
            lowered,
            tuple(map(_widens, *tensors)),
            _without_told(counts, tensors[0]),
        )

    def draws(self, inputs: list[Any]) -> list[str]:
        """The kinds of draws in which these inputs differ from what they are in all others."""
        fills = any(self.constant_floats) or any(self._filled(tensors_of(inputs)))
        masks, skews, ties = (any(one is not None for one in known) for known in (self.masks, self.skews, self.extremes))
        lowers, widens = self.lowers_by > 0, any(factor != 1 for factor in self.widens)
        kinds = {
            **{"filled": fills, "masked": masks, "skewed": skews, "lower": lowers, "wide": widens, "tied": ties, "ranged": tell(inputs, self.ranges)},
            "permuted": any(self.counts),
        }
        return [kind for kind, has in kinds.items() if has]

    def _filled(self, tensors: list[Tensor]) -> list[bool]:
        """Which of these tensors get other values, that are the same in every draw."""
        if len(tensors) != len(self.constant):
            return [False] * len(tensors)
        numbers, found = self.numbers or (False,) * len(tensors), self.lengths or (None,) * len(tensors)
        known = zip(tensors, self.constant, numbers, found)
        return [same and (_fills(tensor) or is_number or one is not None) for tensor, same, is_number, one in known]

    def filled(self, inputs: list[Any], device: torch.device, seed: int, structures: list[Structure | None]) -> list[Any]:
        """Other values in what is the same in every draw."""
        chosen, known, found = iter(self._filled(tensors_of(inputs))), iter(structures), iter(self.lengths)
        generator = torch.Generator().manual_seed(seed)

        def changed(tensor: Tensor) -> Tensor:
            copy, elements = editable_copy(tensor, device)
            structure, may_be_lengths = next(known, None), next(found, None)
            if next(chosen, False):
                if may_be_lengths is not None:
                    may_be_lengths.vary(elements, seed)
                else:
                    _fill(tensor, elements, generator)
                if structure is not None and elements.shape == tensor.shape:
                    structure.restore(elements.detach(), tensor.detach())
            return copy

        same_floats, random_numbers = iter(self.constant_floats), random.Random(seed)

        def another(number: float) -> float:
            if not next(same_floats, False):
                return number
            # Zero as a factor, a slope or an offset; what must not be negative takes this as well.
            return number * random_numbers.uniform(0.5, 0.75) if number else random_numbers.uniform(0.25, 0.75)

        return map_floats(map_tensors(inputs, changed), another)

    def masked(self, inputs: list[Any], device: torch.device, seed: int) -> list[Any]:
        """One row of every mask is empty and one of eight full, but for what each row has in every draw: there are more than there usually are, too. Of two rows
        half or more is empty, the first part of one and the last of the other, as padding has it. Of those that are added to scores none is empty: what a softmax
        of nothing is differs from kernel to kernel."""
        masks, random_numbers = iter(self.masks), random.Random(seed)

        def changed(tensor: Tensor) -> Tensor:
            copy, elements = editable_copy(tensor, device)
            mask = next(masks, None)
            if mask is not None and elements.shape == tensor.shape:
                rows, length = _rows(tensor), tensor.shape[-1]
                count = max(1, rows // _FULL)
                empty, *others = random_numbers.sample(range(rows), min(rows, 1 + count + 2))
                full, left = others[:count], others[count:] if rows >= _FEWEST_PADDED or mask.closed is not None else []
                changes = [([empty], mask.always), (full, ~mask.never)] if mask.closed is None else [(full, ~mask.never)]
                places = torch.arange(length)
                orders = [order for order, may_be in zip((places, places.flip(0)), mask.padded) if may_be]
                for row, order in zip(left, orders):
                    begins = length - 1 - random_numbers.randrange(max(1, length // 2))
                    changes.append(([row], mask.always | ~mask.never & (order >= begins).to(mask.never.device)))
                for chosen, values in changes:
                    written = values if mask.closed is None else torch.where(values, 0.0, mask.closed)
                    elements[indices_of(torch.tensor(chosen), tensor.shape[:-1])] = written.to(device=device, dtype=elements.dtype)
            return copy

        return map_tensors(inputs, changed)

    def skewed(self, inputs: list[Any], device: torch.device, seed: int) -> list[Any]:
        """Integers take those of a few places: of the same ones in all tensors of that length, so that what belongs together stays so."""
        skews = iter(self.skews)

        def changed(tensor: Tensor) -> Tensor:
            copy, elements = editable_copy(tensor, device)
            dimension = next(skews, None)
            if dimension is not None and elements.shape == tensor.shape:
                length = tensor.shape[dimension]
                generator = torch.Generator().manual_seed(seed + length)
                places = torch.randperm(length, generator=generator)[:_PLACES]
                taken = places[torch.randint(_PLACES, (length,), generator=generator)].to(device)
                elements.copy_(elements.index_select(dimension, taken))
            return copy

        return map_tensors(inputs, changed)

    def lower(self, inputs: list[Any], device: torch.device, _seed: int) -> list[Any]:
        """Integers that are never below two, all of them less by the same number, so that the smallest are about one: what differs still does, and nothing is
        more than it was."""
        known = iter(self.lowered)

        def changed(tensor: Tensor) -> Tensor:
            copy, elements = editable_copy(tensor, device)
            chosen = next(known, None)
            if chosen is not None and elements.shape == tensor.shape:
                # In this order: what is below that in another draw must not run over.
                less = elements.clamp(min=self.lowers_by + 1).sub_(self.lowers_by)
                elements.copy_(torch.where(chosen.to(elements.device), less, elements))
            return copy

        return map_tensors(inputs, changed)

    def wide(self, inputs: list[Any], device: torch.device, seed: int) -> list[Any]:
        """Numbers multiplied until they have more digits; where they are but bits, the highest one of about half of them is another."""
        known = iter(self.widens)
        generator = torch.Generator().manual_seed(seed)

        def changed(tensor: Tensor) -> Tensor:
            copy, elements = editable_copy(tensor, device)
            factor = next(known, 1)
            if factor > 1:
                elements.mul_(factor)
            elif factor == 0:
                flipped = (torch.rand(elements.shape, generator=generator) < 0.5).to(device)
                elements.bitwise_xor_(torch.where(flipped, torch.iinfo(elements.dtype).min, 0))
            return copy

        return map_tensors(inputs, changed)

    def permuted(self, inputs: list[Any], device: torch.device, seed: int) -> list[Any]:
        """Integers that count from place to place in another order: in the same one wherever there are as many of them, so that what belongs together stays so.
        Those that go on counting from row to row change places across rows, too: within one, the order of pages may make no difference. Those that count in
        larger steps are borders, which stay in order: all but the first and the last one are moved, and with every other seed all but two at either end, where
        somebody may look."""
        counts = iter(self.counts)

        def changed(tensor: Tensor) -> Tensor:
            copy, elements = editable_copy(tensor, device)
            step = next(counts, 0)
            if step == 1 and elements.shape == tensor.shape:
                rows = elements.reshape(1 if _goes_on(tensor) else -1, tensor.numel() if _goes_on(tensor) else tensor.shape[-1])
                order = torch.randperm(rows.shape[-1], generator=torch.Generator().manual_seed(seed + rows.shape[-1]))
                elements.copy_(rows[:, order.to(device)].reshape(elements.shape))
            elif step > 1 and elements.shape == tensor.shape:
                furthest = (step - 1) // 2
                generator = torch.Generator().manual_seed(seed + tensor.shape[-1])
                moved = torch.randint(-furthest, furthest + 1, (tensor.shape[-1] - 2,), generator=generator)
                if seed % 2 and len(moved) >= _INNER_BORDERS:
                    moved[0] = moved[-1] = 0
                elements[..., 1:-1] += moved.to(device=device, dtype=elements.dtype)
            return copy

        return map_tensors(inputs, changed)

    def tied(self, inputs: list[Any], device: torch.device, seed: int) -> list[Any]:
        """Elements that outputs name are there several times."""
        return tied(inputs, device, seed, self.extremes)

    def ranged(self, inputs: list[Any], device: torch.device, seed: int) -> list[Any]:
        """Integers are at the ends of their ranges, and the same ones."""
        return ranged(inputs, device, seed, self.ranges)


def _fills(tensor: Tensor) -> bool:
    """Whether a tensor that is the same in every draw can be given other values: bools, floats of two bytes or more, and some integers."""
    is_numeric = tensor.dtype == torch.bool or can_scale(tensor) and not tensor.is_complex()
    return tensor.numel() > 0 and (is_numeric or _shuffles(tensor) or _is_flag(tensor))


def _shuffles(tensor: Tensor) -> bool:
    """Whether it holds integers in no order, which may be indices: they are as good in another one. A few may be sizes, and offsets are in order."""
    return tensor.dtype in INTEGERS and tensor.dim() > 0 and tensor.numel() >= _MANY_INTEGERS and not bool((tensor[..., 1:] >= tensor[..., :-1]).all())


def _is_flag(tensor: Tensor) -> bool:
    """Whether all of many integers are zero, or all are one: a mask as tokenizers make it, or which of two kinds something is of."""
    return tensor.dtype in INTEGERS and tensor.numel() >= _MANY_INTEGERS and int(tensor.min()) == int(tensor.max()) and int(tensor.max()) in (0, 1)


def _is_number(tensor: Tensor) -> bool:
    """Whether it is one whole number of which there are smaller ones: a seed, a step, a place. What is good for as many is so for fewer."""
    return tensor.dtype in INTEGERS and tensor.numel() == 1 and int(tensor) > 1


def _is_told(number: int, first: list[Tensor], second: list[Tensor]) -> bool:
    """Whether a number is a size of other tensors, or may be what all of their integers have to be below: a GPU has no answer for an index that is not."""
    if any(number in tensor.shape for tensor in first):
        return True
    largest = [int(torch.maximum(*pair).max()) for pair in zip(first, second) if pair[0].dtype in INTEGERS and pair[0].numel() > 1]
    return any(number // 2 <= one < number for one in largest)


def _fill(tensor: Tensor, elements: Tensor, generator: torch.Generator) -> None:
    if _is_number(tensor):
        elements.sub_(int(torch.randint(1, int(tensor) // 2 + 1, (), generator=generator)))
        return
    if _shuffles(tensor):
        rows = elements.unsqueeze(0) if elements.dim() != 2 or elements.shape[0] not in _ENDS else elements.unsqueeze(1)
        for row in rows:
            order = torch.randperm(row.shape[-1], generator=generator).to(elements.device)
            row.copy_(row[..., order].clone())
        return
    if _is_flag(tensor):
        # As padding has it, or numbers of graphs in a batch: in order, and no row is empty.
        length, own = elements.shape[-1], int(tensor.max())
        ends = torch.randint(1, length + 1, (*elements.shape[:-1], 1), generator=generator)
        elements.copy_(torch.where(torch.arange(length) < ends, own, 1 - own).to(elements.device, elements.dtype))
        return
    random_values = torch.rand(elements.shape, generator=generator).to(elements.device)
    if tensor.dtype == torch.bool:
        elements.copy_(random_values < 0.5)
        return
    # What is zero in every draw gets values of size one, of either sign; the rest is scaled within what it is.
    elements = elements.detach()
    elements.copy_(torch.where(elements == 0, 2 * random_values - 1, elements * (0.5 + 0.5 * random_values)).to(elements.dtype))


def _is_above_one(first: Tensor, second: Tensor) -> bool:
    """Whether these are integers that differ from draw to draw, and are never below two; not where they add up to the same in both, as parts of a whole do, nor
    where they go up one by one, as positions do: in another draw some may be below those that were seen."""
    if first.dtype not in INTEGERS or first.numel() == 0 or same_bits(first, second) or _go_up(first) and _go_up(second):
        return False
    return int(torch.minimum(first, second).min()) > 1 and int(first.sum()) != int(second.sum())


def _go_up(tensor: Tensor) -> bool:
    return tensor.dim() > 0 and tensor.shape[-1] >= _MANY_COUNTED and bool((tensor[..., 1:] == tensor[..., :-1] + 1).all())


def _lowered(first: list[Tensor], second: list[Tensor]) -> tuple[Tensor | None, ...]:
    """Which elements can be lowered: none of a tensor that has a dimension of the same length as integers that cannot, with which it may belong together."""
    above = list(map(_is_above_one, first, second))
    others = {length for tensor, is_above in zip(first, above) if tensor.dtype in INTEGERS and not is_above for length in tensor.shape}
    return tuple(
        (one != another) | (one < one.max()) if is_above and not others.intersection(one.shape) else None
        for one, another, is_above in zip(first, second, above)
    )


def _widens(first: Tensor, second: Tensor) -> int:
    """What integers can be multiplied by, zero where any bits are as good."""
    if first.dtype not in _WIDTHS or first.numel() == 0 or same_bits(first, second):
        return 1
    both = torch.stack([first, second])
    largest = max(int(both.max()), -int(both.min()))
    if largest.bit_length() > _BITS_OF_INDICES:
        return 0
    negative = both[both < 0]
    is_number = _NUMBERS * negative.numel() >= both.numel() and negative.unique().numel() >= _DIFFERENT
    return 1 << max(0, _WIDTHS[first.dtype] - largest.bit_length()) if is_number else 1


def _counts(first: Tensor, second: Tensor) -> int:
    """By how much each of these is more than the one before it, of integers that are the same in both draws; zero where that is not one number, or too few
    to be moved by."""
    if first.dtype not in INTEGERS or not first.dim() or first.shape[-1] < _MANY_COUNTED or not first.numel() or not same_bits(first, second):
        return 0
    step = int(first.reshape(-1)[1] - first.reshape(-1)[0])
    return step if (step == 1 or step >= _LEAST_STEP) and bool((first[..., 1:] == first[..., :-1] + step).all()) else 0


def _without_told(counts: tuple[int, ...], tensors: list[Tensor]) -> tuple[int, ...]:
    """The same without borders whose distances another input tells: they would no longer belong together."""
    told = {int(tensor.reshape(-1)[0]) for tensor in tensors if tensor.dtype in INTEGERS and tensor.numel() and bool((tensor == tensor.reshape(-1)[0]).all())}
    return tuple(0 if step > 1 and step in told else step for step in counts)


def _goes_on(tensor: Tensor) -> bool:
    """Whether each row goes on where the one before it has ended."""
    flat = tensor.reshape(-1)
    return bool((flat[1:] == flat[:-1] + 1).all())


def _rows(tensor: Tensor) -> int:
    return tensor.numel() // tensor.shape[-1]


def _mask(first: Tensor, second: Tensor) -> Mask | None:
    """What bools, or numbers that close places, have in common row by row, if their rows are free: not where each has as many as all others, as a choice has,
    and not where the places of a matrix tell what is in them, as in a causal mask or one that begins with everybody knowing himself."""
    closed = _closed(first, second)
    if closed is not None:
        first, second = first == 0, second == 0
    if first.dtype != torch.bool or first.dim() < 2 or first.shape[-1] < 2 or _rows(first) < _FEWEST_ROWS or same_bits(first, second):
        return None
    both = torch.stack([first, second])
    if any(bool((counts == counts[0]).all()) for counts in (both.sum(-1).flatten(), both.sum(-2).flatten())):
        return None
    if first.shape[-1] == first.shape[-2] and _places_tell(both):
        return None
    # Of few rows some columns are the same by chance: they stay so, too.
    rows = both.flatten(0, -2)
    always = rows.all(0)
    # Where no row is made empty, nothing depends on those.
    may_be_always = always if closed is None or len(rows) >= _MANY_ROWS else torch.zeros_like(always)
    return Mask(may_be_always, (~rows).all(0), closed, _padded(rows))


def _padded(rows: Tensor) -> tuple[bool, bool]:
    """Whether what is false may begin rows, and end them."""
    opens, closes = (bool(steps.any()) for steps in (rows[:, 1:] & ~rows[:, :-1], ~rows[:, 1:] & rows[:, :-1]))
    return (True, True) if opens == closes else (opens, closes)


def _closed(first: Tensor, second: Tensor) -> float | None:
    """The number far below zero that elements are in both draws where they are not zero; None where they are anything else."""
    if not first.is_floating_point() or first.dtype.itemsize < 2 or first.layout is not torch.strided or not first.numel():
        return None
    look = first.reshape(-1)[:_MANY_INTEGERS]
    if not bool(((look == 0) | (look <= _CLOSES)).all()):
        return None
    lowest = torch.minimum(first.min(), second.min())
    is_mask = all(bool(((tensor == 0) | (tensor == lowest)).all()) for tensor in (first, second))
    return float(lowest) if is_mask and float(lowest) <= _CLOSES else None


def _places_tell(matrices: Tensor) -> bool:
    diagonals = matrices.diagonal(dim1=-2, dim2=-1)
    triangles = [torch.equal(matrices, part) for part in (matrices.tril(), matrices.triu())]
    return bool(diagonals.all()) or not bool(diagonals.any()) or any(triangles) or torch.equal(matrices, matrices.mT)


def _skews(first: list[Tensor], second: list[Tensor]) -> tuple[int | None, ...]:
    """The longest dimension of integers that differ from draw to draw, come twice and in no order in every line along it. None for those of a length along
    which others are in order: these may be the groups that they come in."""
    ordered, found = set(), []
    for pair in zip(first, second):
        dimension = None
        if pair[0].dtype in INTEGERS and pair[0].dim() and max(pair[0].shape) >= _FEWEST_SKEWED:
            longest = max(range(pair[0].dim()), key=lambda at: pair[0].shape[at])
            lines = torch.stack([tensor.movedim(longest, -1) for tensor in pair])
            steps = lines[..., 1:] >= lines[..., :-1]
            sorted_lines = lines.sort(-1).values
            if bool((steps.all(-1) | (lines[..., 1:] <= lines[..., :-1]).all(-1)).any()):
                ordered.add(pair[0].shape[longest])
            elif not same_bits(*pair) and bool((sorted_lines[..., 1:] == sorted_lines[..., :-1]).any(-1).all()):
                dimension = longest
        found.append(dimension)
    return tuple(at if at is not None and tensor.shape[at] not in ordered else None for at, tensor in zip(found, first))
