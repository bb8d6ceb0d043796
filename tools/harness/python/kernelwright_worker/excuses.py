"""What excuses single values that are not what is expected: rounding, a NaN, what a type cannot hold."""

from __future__ import annotations

from itertools import chain

import torch
from torch import Tensor

from .expected import Expected
from .paths import tensor_at
from .tolerance import FEW, Scale, real_parts

#: Where TF32 is allowed so many elements, or one in so many, may be off by so many times the limit.
_FEW_TAILS, _TAIL_ONE_IN, _TAIL = 2, 2048, 2.5


def neighbours(expected: Expected, scale: Scale, parts: tuple[Tensor, Tensor], path: str, wrong: Tensor) -> None:
    """Clears those few that are what the reference gives for inputs a few roundings away: a value at a border rounds to its neighbour, as integers do.
    And those that are no further off than such inputs move them: of a matrix that is nearly singular every way of inverting it
    rounds by that much."""
    at = wrong.nonzero().reshape(-1)
    exact, given = (part.reshape(-1)[at].to(torch.float64) for part in parts)
    moved = torch.zeros_like(exact)
    for near in chain(expected.nearby(), expected.rounded()):
        tensor = tensor_at(near, path)
        if not bool(wrong.any()) or tensor is None or real_parts(tensor).numel() != wrong.numel():
            return
        there = real_parts(tensor).reshape(-1)[at].to(torch.float64)
        moved = torch.maximum(moved, (there - exact).abs().nan_to_num(posinf=0.0))
        excused = (scale.ratio(given, there) <= 1) | (given == there) | ((given - exact).abs() <= moved)
        wrong[at[excused]] = False


def tail(scale: Scale, exact: Tensor, given: Tensor, wrong: Tensor) -> None:
    """Clears those that are off by no more than operands of ten bits are in a few of many products: where columns differ in size, the largest errors are twice
    what the size of a whole output says. Operands of seven bits are off by more in one element of a hundred."""
    at = wrong.nonzero().reshape(-1)
    if wrong.numel() < FEW or at.numel() > max(_FEW_TAILS, wrong.numel() // _TAIL_ONE_IN):
        return
    e, a = (part.reshape(-1)[at].to(torch.float64) for part in (exact, given))
    error = (a - e).abs()
    wrong[at[error.isfinite() & (error <= _TAIL * scale.relative * (scale.size + e.abs()))]] = False


def decided_by_nan(expected: Expected, scale: Scale, baseline: Tensor, given: Tensor, path: str) -> Tensor | None:
    """Where a number stands in the place of a NaN, or the other way, and what the reference gives there depends on which number an input has in the
    place of its NaN. A maximum by comparisons loses it, and who does not look for one where the reference does lets it through, whereas a product with a
    structural zero never had it, and a transform carries it to where it decides nothing."""
    unlike = torch.isnan(baseline) & torch.isfinite(given) | torch.isfinite(baseline) & torch.isnan(given)
    at = unlike.reshape(-1).nonzero().reshape(-1)
    if at.numel() == 0:
        return None
    found = [tensor_at(without, path) for without in expected.without_nan(False)]
    runs = [real_parts(tensor).reshape(-1)[at].to(torch.float64) for tensor in found if tensor is not None and real_parts(tensor).numel() == unlike.numel()]
    if not runs:
        return None
    depends = torch.zeros_like(at, dtype=torch.bool)
    for run in runs[1:]:
        depends |= torch.isfinite(runs[0]) & torch.isfinite(run) & (scale.ratio(run, runs[0]) > 1)
    decided = torch.zeros(unlike.numel(), dtype=torch.bool, device=unlike.device)
    decided[at[depends]] = True
    return decided if bool(depends.any()) else None


def without_nan(expected: Expected, scale: Scale, given: Tensor, path: str, wrong: Tensor) -> None:
    """Clears those that are what the reference gives where a NaN is a number: sorting and choosing by comparisons, which a NaN all fails, leaves it out."""
    at = wrong.nonzero().reshape(-1)
    values = given.reshape(-1)[at].to(torch.float64)
    for without in expected.without_nan(False):
        tensor = tensor_at(without, path)
        if tensor is not None and real_parts(tensor).numel() == wrong.numel():
            there = real_parts(tensor).reshape(-1)[at].to(torch.float64)
            wrong[at[(scale.ratio(values, there) <= 1) | (values == there)]] = False


def without_overflow(expected: Expected, given: Tensor, path: str, wrong: Tensor) -> None:
    """Clears those that are near the float64 value: what is divided by an infinity is zero, and next to nothing where there is none."""
    tensor = tensor_at(expected.without_overflow, path)
    if tensor is None or real_parts(tensor).numel() != wrong.numel():
        return
    exact, at = real_parts(tensor), wrong.nonzero().reshape(-1)
    scale = Scale.of(exact, exact.to(given.dtype), expected.precision, noisy=False)
    there, values = (part.reshape(-1)[at].to(torch.float64) for part in (exact, given))
    wrong[at[scale.ratio(values, there) <= 1]] = False


def next_to_overflow(expected: Expected, path: str, elements: Tensor) -> Tensor:
    """Which of an output's elements the reference has an answer for by chance: a little more, and something on its way is larger than its type holds. Whoever
    takes the same steps in another order is there sooner."""
    found = torch.zeros_like(elements, dtype=torch.bool)
    for results in expected.enlarged():
        single, double = (tensor_at(part, path) for part in results)
        if single is not None and double is not None and real_parts(single).numel() == real_parts(double).numel() == elements.numel():
            overflows = torch.isfinite(real_parts(double)) & ~torch.isfinite(real_parts(single))
            found |= overflows.reshape(-1)
    return found
