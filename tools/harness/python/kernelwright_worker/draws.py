"""The inputs of trials: the problem's own distribution, and variations of it that expose shortcuts (see "Draws" in WORKERS.md).

Integers, bools and indices stay what the problem's own function made them in all but the draws of `traits.py`, and an input stays what it is in every
draw (`structure.py`).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .layout import can_scale, editable_copy, indices_of
from .ranges import Range
from .structure import Structure
from .traits import Traits
from .trees import map_tensors, tensors_of

#: What a person reads about each kind.
LABELS = {
    "problem": "problem's distribution",
    "scaled": "scaled x100",
    "small": "scaled x1/256, two zeros",
    "shifted": "shifted by one standard deviation",
    "negative": "all far below zero",
    "biased": "some columns far above what they were, some far below",
    "blocked": "blocks of large and of small values",
    "structured": "equal rows, a block of zeros, rows in order, sign flips",
    "unsigned": "equal rows, a block of zeros, rows in order",
    "blank": "a block of zeros, and one of equal numbers",
    "special": "denormals, zeros, a NaN and an inf",
    "tiny": "denormals and zeros",
    "uneven": "all but a few elements far smaller",
    "spiked": "a few elements far larger",
    "sifted": "its values in other places, usual ones in every second row and column",
    "filled": "other values in what is the same in every draw",
    "masked": "an empty row of each mask, some full and some padded ones",
    "skewed": "integers from a few places in all others",
    "lower": "integers down to one",
    "wide": "integers of more digits",
    "tied": "the largest of each row several times",
    "ranged": "integers at the ends of their range, and few of them",
    "permuted": "the first inputs again, what counts from place to place in another order, borders elsewhere",
    "touched": "the first inputs again, a few elements changed",
    "raised": "the first inputs again, a few elements far larger",
    "opposed": "the first inputs again, a few single elements far larger and of the other sign",
    "flipped": "the first inputs again, the signs of a few elements changed",
    "nudged": "last digits changed",
    "enlarged": "a quarter larger",
    "untied": "zeros and denormals moved apart",
}

#: So many elements are singled out in `uneven` and `spiked` draws, or one in so many where there are few: enough to fall into any large part, and of a
#: sample of the inputs (a half, an eighth) they are never just its share. All others shrink by powers of two until they add up to as much as these, or
#: by the most that sums and 16 bits bear.
_SINGLED, _AMONG, _SHRUNK, _SHRUNK_SHORT = 7, 16, 20, 8
#: By such a part of it the sizes of `spiked` ones differ, so that none is another's.
_APART = 128
#: `spiked` ones grow by one of these factors: of many elements, or under a root, a small one decides nothing.
SPIKES = (64.0, 64.0**2, 64.0**3, 64.0**4, 64.0**5)
#: In `sifted` draws values change places over half a dimension and so many elements of it, each time in one of so many parts across it; a vector is taken for
#: rows of so many elements.
_SIFTED, _SIFTED_PART, _SIFTED_ROW = (4, 2, 1), 4, 256
#: Of so many rows one may be zero, which asks for what keeps a norm from it, and finds the tile that leaves early.
_SEVERAL_ROWS = 8
#: Of fewer the last one is this part of what it was.
_SMALLER = 0.25
#: So many rows of `structured` draws are in order.
_ORDERED = 4
#: Elements of `small` draws are this part of what they were, without rounding: an epsilon of 1e-8 beside squares of what was of size one shows.
_SMALL = 2.0**-8
#: Zeros that are moved apart take so many steps to either side: few of them take the same one, and with this key those that draws put first in a row take
#: steps that differ much.
_UNTIED, _UNTIED_KEY = 510, 1423
#: Elements of `negative` draws are so many times as large.
_FAR_BELOW = 200.0
#: Columns of `biased` draws move by one of these, in standard deviations: a gate that was open for a few steps then is for hundreds. A short way down, too: what
#: lies just before the first place of an image or a table is rounded to another one than what lies behind the last.
_BIASES = (-5.0, 5.0, -1.0, 0.0)
#: Matrices of `blocked` draws have at least so many rows and columns; a quarter of the rows and half of the columns make a block. Blocks lie so many standard deviations
#: from the mean, about as far as values do, and what is left of the values' own differences is one part in so many.
_FEWEST_IN_BLOCKS, _BLOCK_ROWS, _BLOCK_COLUMNS = 8, 4, 2
_BLOCKS_APART, _WITHIN_BLOCKS = 1.2, 8
#: One element in so many changes in draws in place, by such a factor, in one run of them. Of those that become far larger there are few, in one row: they
#: decide all the same, and a look at some of the elements sees them less often. A look at one in thirty sees each run, but seldom an element alone: those of
#: `opposed` lie anywhere, three of them, or one in so many where that is more.
_TOUCHED = 512
_FACTORS = {"touched": 0.75, "raised": 100.0, "opposed": -100.0, "flipped": -1.0}
_MOST_RAISED = 64
_ALONE, _ONE_ALONE_IN = 3, 1 << 18


def transform(
    inputs: list[Any],
    kind: object,
    device: torch.device,
    seed: int = 0,
    structures: Sequence[Structure | None] = (),
    traits: Traits = Traits(),
    spike: float = SPIKES[0],
) -> tuple[list[Any], str | None]:
    """The inputs changed as `kind` says, in memory of their own, and why the draw is worth nothing, if so. `seed` decides what is touched, and how it
    is nudged; `structures` are those of the inputs' tensors, `traits` what else is so in every draw, and `spike` how large spikes are."""
    if kind not in LABELS:
        raise WorkerError("internal", "draw", f"a draw of kind {kind!r}")
    if kind == "problem":
        return inputs, None
    if kind == "filled":
        return traits.filled(inputs, device, seed, list(structures)), None
    if kind == "masked":
        return traits.masked(inputs, device, seed), None
    if kind in ("skewed", "lower", "wide", "tied", "ranged", "permuted"):
        changed_traits = getattr(traits, str(kind))
        return changed_traits(inputs, device, seed), None
    tensors = tensors_of(inputs)
    drawn = traits.ranges if kind == "touched" and len(traits.ranges) == len(tensors) else (None,) * len(tensors)
    fixed = [structure is not None and bool(structure.either) for structure in structures] or [False] * len(tensors)
    if not any(tensor.numel() and (can_scale(tensor) and not stays or range_ is not None) for tensor, range_, stays in zip(tensors, drawn, fixed)):
        return inputs, "the inputs have no floating-point tensor to change"
    random_numbers, ranks = random.Random(seed), itertools.count(1)
    change = _untie_zeros(seed) if kind == "untied" else _CHANGES.get(str(kind)) or _nudge(seed)
    known, probabilities, ranges = iter(structures), iter(traits.probabilities), iter(drawn)

    def changed(tensor: Tensor) -> Tensor:
        copy, elements = editable_copy(tensor, device)
        structure, are_probabilities, range_ = next(known, None), next(probabilities, False), next(ranges, None)
        if elements.shape != tensor.shape:
            structure = None
        if can_scale(tensor) and tensor.numel():
            elements = elements.detach()
            free = structure and structure.free()
            if kind in _FACTORS:
                _touch(elements, random_numbers, free, _FACTORS[kind])
            elif kind == "biased":
                _bias(elements, random_numbers)
            elif kind in ("uneven", "spiked"):
                _single_out(elements, random_numbers, free, spike if kind == "spiked" else None, next(ranks))
            elif kind == "sifted":
                _sift(elements, random_numbers)
            else:
                change(elements)
            if structure is not None:
                structure.restore(elements, tensor.detach())
            if are_probabilities:
                # Whoever adds them up goes upwards, and searches in what comes of it.
                elements.abs_()
        elif range_ is not None and tensor.numel():
            _touch_integers(elements, random_numbers, range_)
        return copy

    return map_tensors(inputs, changed), None


def _spread(elements: Tensor) -> float:
    """The standard deviation; one, where there is none."""
    wide = torch.complex128 if elements.is_complex() else torch.float64
    spread = elements.to(wide).std().real.item() if elements.numel() > 1 else 0.0
    return spread if spread > 0 and spread == spread else 1.0


def _shift(elements: Tensor) -> None:
    elements.add_(_spread(elements))


def _bias(elements: Tensor, random_numbers: random.Random) -> None:
    """Most of the columns move, up or down and by as much in all rows, as a bias moves them: what decays stays over a whole sequence, and what a step has
    forgotten of the steps before shows. Steps may come last: of several matrices those in the second half have their channels moved instead, and of one matrix
    the rows of the second half move as a whole. What has but one sign keeps it."""
    if not elements.dim():
        return
    biases = torch.tensor(_BIASES)
    if not elements.is_complex():
        lowest, highest = elements.aminmax()
        biases = biases.clamp(min=0) if lowest >= 0 else biases.clamp(max=0) if highest <= 0 else biases
    amounts = (biases * _spread(elements)).to(elements.device, elements.dtype)

    def move(part: Tensor, dimension: int) -> None:
        generator = torch.Generator().manual_seed(random_numbers.getrandbits(32))
        chosen = amounts[torch.randint(len(amounts), (part.shape[dimension],), generator=generator).to(amounts.device)]
        part.add_(chosen.reshape(-1, *[1] * (part.dim() - 1 - dimension)))

    half = -(-len(elements) // 2) if elements.dim() > 1 and len(elements) > 1 else None
    move(elements[:half], elements.dim() - 1)
    if half is not None:
        move(elements[half:], 1 if elements.dim() > 2 else 0)


def can_block(tensor: Tensor) -> bool:
    """Whether a `blocked` draw changes it."""
    return can_scale(tensor) and not tensor.is_complex() and tensor.dim() > 1 and min(tensor.shape[-2:]) >= _FEWEST_IN_BLOCKS


def _block(elements: Tensor) -> None:
    """Every matrix falls into two parts that have little to do with each other, one larger than the other: the values are as large and about as far apart as they
    were, and an iteration takes several times as many steps. Nothing leaves the range of what was there."""
    if not can_block(elements):
        return
    mean, spread = float(elements.mean(dtype=torch.float64)), _spread(elements)
    lowest, highest = (float(end) for end in elements.aminmax())
    if not math.isfinite(highest - lowest):
        return
    apart = min(_BLOCKS_APART * spread, (1 - 1 / _WITHIN_BLOCKS) * min(highest - mean, mean - lowest))
    rows, columns = elements.shape[-2] // _BLOCK_ROWS, elements.shape[-1] // _BLOCK_COLUMNS
    elements.sub_(mean).mul_(1 / _WITHIN_BLOCKS).add_(mean - apart)
    for part in (elements[..., :rows, :columns], elements[..., rows:, columns:]):
        part.add_(2 * apart)
    # What rounding does to the smallest may make it negative.
    elements.clamp_(lowest, highest)


def _negate(elements: Tensor) -> None:
    """Far enough below zero that an exponential is zero, with a spread of the same size, so that nothing cancels that does not where inputs are scaled."""
    if elements.is_complex():
        elements.mul_(-_FAR_BELOW)
        return
    elements.abs_()
    _shift(elements)
    elements.mul_(-_FAR_BELOW)


def _structure(elements: Tensor) -> None:
    """What `_arrange` does, with every other column of the other sign. The rows that are equal were all positive before: their highest frequency, which has
    no counterpart, then stands out."""
    if elements.dim() == 0:
        elements.neg_()
        return
    if elements.dim() > 1 and not elements.is_complex():
        elements[0].abs_()
    elements[..., 1::2].neg_()
    _arrange(elements)


def _arrange(elements: Tensor) -> None:
    """The first quarter of the rows equals the first row, the one after it has equal numbers, and a few rows in the middle are in order, or an eighth of a
    single one: what is largest then lies together. Of a few rows the last one is smaller than others."""
    if elements.dim() == 0:
        return
    rows = elements.shape[0]
    elements[: max(1, rows // 4)] = elements[0].clone()
    if not elements.is_complex():
        middle = rows // 2
        ordered = [elements[middle : middle + rows // 8]] if elements.dim() == 1 else elements[middle : middle + min(_ORDERED, rows // 8)]
        for number, row in enumerate(ordered):
            row.copy_(row.sort(dim=-1, descending=bool(number % 2)).values)
    if elements.dim() > 1 and rows >= _SEVERAL_ROWS:
        _repeat_first(elements[rows // 4 : rows // 4 + 1])
    elif elements.dim() > 1 and rows > 1:
        elements[-1].mul_(_SMALLER)
    _zero_a_block(elements)


def _zero_a_block(elements: Tensor) -> None:
    """A corner and, of several rows, the last eighth are zero; of a matrix of several columns the last one, too."""
    if elements.dim() < 2:
        return
    rows, columns = elements.shape[0], elements.shape[-1]
    elements[rows - max(rows // 4, 1) :][..., columns - columns // 4 :] = 0
    if rows >= _SEVERAL_ROWS:
        elements[rows - rows // _SEVERAL_ROWS :] = 0
    if elements.dim() == 2 and min(rows, columns) >= _SEVERAL_ROWS:
        elements[:, -1] = 0


def _blank(elements: Tensor) -> None:
    """Zeros, and equal numbers in the first slices, an eighth of several."""
    if elements.dim() > 1 and elements.shape[0] >= _SEVERAL_ROWS:
        _repeat_first(elements[: elements.shape[0] // _SEVERAL_ROWS])
    _zero_a_block(elements)


def _repeat_first(slices: Tensor) -> None:
    """The second half of the first row of each slice holds the number that it begins with; of that row alone, as a matrix of such rows would be singular."""
    rows = slices[(slice(None), *(0,) * (slices.dim() - 2))]
    if rows.shape[-1] >= _SEVERAL_ROWS:
        rows[:, rows.shape[-1] // 2 :] = rows[:, :1].clone()


def _make_small(elements: Tensor) -> None:
    """Two zeros in the first row. No denormals, of which a GPU's quick logarithms and quotients make what is not finite."""
    elements.mul_(_SMALL)
    if elements.dim() and elements.shape[-1] >= 8:
        elements[(0,) * (elements.dim() - 1)][4:6] = 0.0


def _shrink(elements: Tensor) -> None:
    """Denormals and zeros in the first row."""
    if elements.dim() == 0 or elements.shape[-1] < 8:
        return
    first = elements[(0,) * (elements.dim() - 1)]
    first[0:4], first[4:6] = torch.finfo(elements.dtype).tiny / 4, -0.0


def _specialise(elements: Tensor) -> None:
    """Besides denormals and zeros an inf in the last row, a NaN in the one before it: apart, so that one does not hide the other."""
    if elements.dim() == 0 or elements.shape[-1] < 8:
        return
    _shrink(elements)
    last = elements[(-1,) * (elements.dim() - 1)]
    last[-1] = float("inf")
    before = elements[(-1,) * (elements.dim() - 2) + (-2,)] if elements.dim() > 1 and elements.shape[-2] > 2 else last[-2:]
    before[0] = float("nan")


def _single_out(elements: Tensor, random_numbers: random.Random, free: Tensor | None, spike: float | None, rank: int) -> None:
    """A few elements in places that nobody knows decide what a reduction comes to: who takes a sample, or remembers, is wrong. In an `uneven` draw the last of
    all is one of them, and the largest: so is who leaves out a tail. They are the smaller the more tensors come before this one, its `rank`: what two of them
    have at their ends differs. In a `spiked` one a look at both ends would tell it from others then."""
    among = elements.numel() if free is None else free.shape[0]
    count = min(_SINGLED, among // _AMONG)
    if not count or not elements.dim():
        return
    places = random_numbers.sample(range(among), count) if spike is not None else [*random_numbers.sample(range(among - 1), count - 1), among - 1]
    chosen = torch.tensor(places, device=elements.device)
    where = indices_of(chosen, elements.shape) if free is None else free[chosen].unbind(1)
    kept = elements[where].clone()
    if spike is not None:
        # Nearly the same size: a sample of a few that differ may have just its share.
        sizes = 1 + torch.arange(count, device=elements.device) / _APART
        elements[where] = (kept.sgn() * (kept.abs().mean() * spike * sizes)).to(elements.dtype)
        return
    kept = kept[kept.abs().argsort()] / rank
    if not kept.is_complex() and bool((kept > 0).any()):
        kept[-1].abs_()
    most = _SHRUNK_SHORT if elements.dtype == torch.float16 else _SHRUNK
    elements.mul_(0.5 ** min(most, (elements.numel() // count).bit_length()))
    elements[where] = kept


def _sift(elements: Tensor, random_numbers: random.Random) -> None:
    """Values change places, so that those about one standard deviation from the mean are more often in the first half of each dimension, and in every second,
    fourth and eighth row and column, than elsewhere. A sample of rows or columns is then off by a hundredth in all but its mean and its standard deviation,
    which are off by a few hundredths at most, and a look at all elements finds what it always finds: whoever takes a sample for the whole wherever a look tells
    that a draw is the problem's own is wrong."""
    if elements.dim() == 1:
        whole = elements.numel() // _SIFTED_ROW * _SIFTED_ROW
        elements = elements[:whole].view(-1, _SIFTED_ROW)
    if elements.is_complex() or not elements.dim() or not elements.numel():
        return
    mean, spread = float(elements.mean(dtype=torch.float64)), _spread(elements)

    def distance(values: Tensor) -> Tensor:
        return ((values - mean).abs_() - spread).abs_()

    for dimension, size in enumerate(elements.shape):
        across = 0 if dimension == elements.dim() - 1 else elements.dim() - 1
        lines = elements.shape[across]
        count = -(-lines // _SIFTED_PART)
        for apart in dict.fromkeys(step for step in (size // 2, *_SIFTED) if 0 < 2 * step <= size):
            part = elements.narrow(across, random_numbers.randrange(lines - count + 1), count)
            pairs = part.narrow(dimension, 0, size // (2 * apart) * 2 * apart).unflatten(dimension, (-1, 2, apart))
            first, second = pairs.select(dimension + 1, 0), pairs.select(dimension + 1, 1)
            swapped, former = distance(first) > distance(second), first.clone()
            first.copy_(torch.where(swapped, second, former))
            second.copy_(torch.where(swapped, former, second))


def _touch(elements: Tensor, random_numbers: random.Random, free: Tensor | None, factor: float) -> None:
    """Changes a few elements, so that what was remembered by a look at some of the inputs is remembered wrongly, and what is so in the problem's draws
    alone is not taken for granted; of those in `free`, by index, where not all may be changed."""
    among = elements.numel() if free is None else free.shape[0]
    if not among:
        return
    count = -(-among // _TOUCHED)
    if abs(factor) > 1:
        count = min(count, _MOST_RAISED)
    if factor < -1:
        alone = max(_ALONE, among // _ONE_ALONE_IN)
        chosen = torch.tensor(random_numbers.sample(range(among), min(count, alone)), device=elements.device)
    else:
        # Those that become far larger in one row, where rows are as long or a multiple of it.
        start = count * random_numbers.randrange(among // count) if factor > 1 else random_numbers.randrange(among - count + 1)
        chosen = torch.arange(start, start + count, device=elements.device)
    # Elements may be laid out in any way: by index, not by a flat view.
    where = indices_of(chosen, elements.shape) if free is None else free[chosen].unbind(1)
    elements[where] = elements[where] * factor


def _touch_integers(elements: Tensor, random_numbers: random.Random, range_: Range) -> None:
    """The same with integers of which it is known from what range they were drawn: each becomes another one of that."""
    count = -(-elements.numel() // _TOUCHED)
    start, width = random_numbers.randrange(elements.numel() - count + 1), range_.high - range_.low
    if width.bit_length() >= 63:
        # Differences of such numbers do not fit: they are moved by other draws.
        return
    where = indices_of(torch.arange(start, start + count, device=elements.device), elements.shape)
    further = random_numbers.randrange(1, max(width, 2))
    elements[where] = ((elements[where].long() - range_.low + further) % width + range_.low).to(elements.dtype)


#: Odd numbers that fit 32 bits with their sign; the last one also tells keys apart.
_MIX = (0x2C1B3C6D, -0x68AC1B47, 0x297A2D39)


def scrambled(indices: Tensor, key: int) -> Tensor:
    """Pseudo-random numbers in the place of indices, others for another key and the same every time."""
    indices += 1 + key * _MIX[2] & 0x7FFFFFFF
    # Whether a product fits does not matter.
    for shift, factor in ((16, _MIX[0]), (15, _MIX[1]), (13, _MIX[2])):
        indices ^= indices >> shift
        indices *= factor
    indices ^= indices >> 16
    return indices


def _nudge(seed: int) -> Callable[[Tensor], None]:
    """Moves elements apart in their last digits; another seed moves other ones, in other directions, and all but the first further.

    Steps follow no pattern, so no two elements always move alike; each odd seed is followed by one with the opposite steps, so two that are
    nearly tied come in either order unless their steps are equal in every such pair. What rounding adds up to in a long sum is more than what
    one element is off: those steps are about what float32 results may be off.
    """

    def nudge(elements: Tensor) -> None:
        if not elements.dim():
            return
        flat = torch.arange(elements.numel(), device=elements.device, dtype=torch.int32 if elements.numel() < 1 << 31 else torch.int64)
        steps = scrambled(flat, (seed + 1) // 2).view(elements.shape) % 11
        # Of 16 bits the last one alone is a lot.
        change = steps % 3 - 1 if elements.dtype.itemsize == 2 else (128 if seed else 16) * (steps - 5)
        if seed % 2:
            change.neg_()
        elements.mul_(1 + torch.finfo(elements.dtype).eps * change.to(elements.dtype))

    return nudge


def _untie_zeros(seed: int) -> Callable[[Tensor], None]:
    """Moves zeros and denormals apart, by as little as large elements are moved in their last digits, and enough that it shows in an exponential; an odd
    seed moves them the other way, so that two of them come in either order."""

    def untie(elements: Tensor) -> None:
        if not elements.dim():
            return
        flat = torch.arange(elements.numel(), device=elements.device, dtype=torch.int64)
        steps = scrambled(flat, _UNTIED_KEY).view(elements.shape) % (2 * _UNTIED + 1) - _UNTIED
        about = torch.finfo(elements.dtype)
        most = (80 if elements.dtype.itemsize == 2 else 640) * about.eps
        size = most / _UNTIED * (elements[elements.isfinite()].abs().max() if bool(elements.isfinite().any()) else about.tiny)
        elements.add_(torch.where(elements.abs() < about.tiny, steps.to(elements.dtype) * (-size if seed % 2 else size), 0))

    return untie


_CHANGES: dict[str, Callable[[Tensor], None]] = {
    "scaled": lambda elements: elements.mul_(100.0),
    "enlarged": lambda elements: elements.mul_(1.25),
    "unsigned": _arrange,
    "blank": _blank,
    "small": _make_small,
    "shifted": _shift,
    "negative": _negate,
    "blocked": _block,
    "structured": _structure,
    "special": _specialise,
    "tiny": _shrink,
}
