"""Compares the floating elements of one output: how far each is off, and which of those that are too far have an excuse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from . import excuses, patterns, tails
from .comparison import Comparison, few_of
from .expected import Expected, Extent, NanRule
from .paths import GRADIENTS, tensor_at
from .tolerance import Precision, Scale, chunks, real_parts

#: Errors as large as the baseline's isolated ones: so many times as many as it has, and so many more. The figure that stands for too many.
_AS_MANY, _FEW_ISOLATED, _TOO_MANY = 4, 8, 10.0
#: Gradients behind exponentials that saturate may be off by so much more than others: torch's own fused attention is by thirty to a hundred times as much.
_SATURATED = 150.0
#: That part of an output what is not finite may have spread to, so that enough is left to be right.
_MOST_SPREAD = 0.5
#: Values of such a part of the largest that a type has, or with such a part of its exponent, overflow where they come of sums in another order, or in parts
#: of which each has grown by itself.
_NEAR_OVERFLOW, _NEAR_EXPONENT = 2.0**-12, 0.75


@dataclass
class _Errors:
    """How far the elements of an output are off, in tolerances."""

    #: The largest error of all, and where it is; the largest of those that are within their limit.
    largest: float = 0.0
    where: int = 0
    within: float = 0.0
    #: Which elements are too far off; None where none is, or nobody asks for more than the first one.
    wrong: Tensor | None = None
    #: Whether all that were have an excuse.
    is_excused: bool = False

    @property
    def told(self) -> float:
        """What is told of the output."""
        return self.within if self.is_excused else self.largest


def compare_floats(expected: Expected, baseline: Tensor, precise: Tensor, actual: Tensor, path: str, result: Comparison) -> None:
    """Compares a tensor whose device, dtype and shape are as expected."""
    b, e, a = (real_parts(tensor) for tensor in (baseline, precise, actual))
    scale = _scale(expected, e, b, id(precise), path)
    share = _share_of_spread(b, a) if expected.nan.admits_anything else 0.0
    if share > _MOST_SPREAD and expected.is_replaceable:
        result.says_nothing = "as this candidate computes, a NaN and an inf of the inputs reach most of its outputs"
        return
    errors = _errors(expected, scale, (b, e, a), 0.0 < share <= _MOST_SPREAD)
    decided = excuses.decided_by_nan(expected, scale, b, a, path) if expected.keeps_nan else None
    _excuse(errors, expected, scale, (e, a), path, expected.precision is Precision.TF32 and baseline.dtype == torch.float32)
    result.mistakes_nan |= decided is not None
    if errors.wrong is None and decided is not None:
        errors = _Errors(math.inf, _first(decided), wrong=decided)
    result.worst = max(result.worst, errors.told)
    if errors.wrong is not None:
        is_complex = baseline.is_complex()
        wrong = errors.wrong.view(*baseline.shape, 2).any(-1) if is_complex else errors.wrong.view(baseline.shape)
        result.add(path, patterns.explain(actual, precise, wrong, errors.where // 2 if is_complex else errors.where), errors.largest)
    elif errors.largest > 1:
        result.add(path, "differs", errors.largest)
        return
    # Where exponentials saturate, errors of gradients are as far apart as these are.
    if scale.may_hold_isolated(errors.largest) and not (expected.saturates and path.startswith(GRADIENTS)):
        _compare_isolated(expected, scale, b, e, a, path, result)
    if expected.looks_at_small and (detail := tails.explain(scale, b, e, a, expected.precision)):
        result.add(path, detail, _TOO_MANY)


def _scale(expected: Expected, precise: Tensor, baseline: Tensor, identity: int, path: str) -> Scale:
    """What errors of an output are measured by: made once, as every draw asks again."""
    if path not in expected.scales:
        floor, distance = expected.floors.get(path, 0.0), expected.distances.get(identity)
        scale = Scale.of(precise, baseline, expected.precision, expected.noisy, floor, distance)
        expected.scales[path] = scale.widened(_SATURATED) if expected.saturates and path.startswith(GRADIENTS) else scale
    return expected.scales[path]


def _errors(expected: Expected, scale: Scale, parts: tuple[Tensor, Tensor, Tensor], spread: bool) -> _Errors:
    """The errors of all elements, or those up to the first mismatch where that is enough. Most are within a quick look's limit; only of the others is the
    error worked out, in float64."""
    found = _Errors()
    for start, (b, e, a) in chunks(*parts):
        quick = scale.quick_ratio(a, e)
        fine = quick <= 1
        if bool(fine.all()):
            found.within = max(found.within, float(quick.max()))
            found.largest = max(found.largest, found.within)
            continue
        suspects = fine.logical_not().nonzero().reshape(-1)
        most = torch.finfo(b.dtype).max
        ratio = element_ratio(scale, *(part[suspects].to(torch.float64) for part in (b, e, a)), expected.nan, spread, most)
        value, index = ratio.max(dim=0)
        if float(value) > max(found.largest, 1.0):
            found.where = start + int(suspects[index])
        found.within = max(found.within, float(ratio.where(ratio <= 1, 0.0).max()), float(quick.where(fine, 0.0).max()))
        found.largest = max(found.largest, float(value), found.within)
        if found.largest <= 1:
            continue
        if expected.extent is Extent.FIRST_MISMATCH:
            break
        if found.wrong is None:
            found.wrong = torch.zeros(parts[2].numel(), dtype=torch.bool, device=parts[2].device)
        found.wrong[suspects[ratio > 1] + start] = True
    return found


def _excuse(errors: _Errors, expected: Expected, scale: Scale, parts: tuple[Tensor, Tensor], path: str, is_tf32: bool) -> None:
    """Takes out of what is wrong what has an excuse."""
    wrong, (_precise, actual) = errors.wrong, parts
    if wrong is None:
        return
    if int(wrong.sum()) <= few_of(wrong.numel()):
        excuses.neighbours(expected, scale, parts, path, wrong)
    if is_tf32:
        excuses.tail(scale, *parts, wrong)
    if expected.nan.admits_anything and bool(wrong.any()):
        excuses.without_nan(expected, scale, actual, path, wrong)
    if expected.without_overflow is not None and bool(wrong.any()):
        excuses.without_overflow(expected, actual, path, wrong)
    if expected.nan.admits_finite and bool(wrong.any()):
        wrong &= ~excuses.next_to_overflow(expected, path, wrong)
    if expected.overflows_forward and path.startswith(GRADIENTS):
        # A backward pass that multiplies by what it has kept of an infinity, where the reference selects, has a NaN in the place of a zero.
        wrong &= torch.isfinite(actual.reshape(-1))
    if not bool(wrong.any()):
        errors.wrong, errors.largest, errors.is_excused = None, 1.0, True
    elif not wrong[errors.where]:
        errors.where = _first(wrong)


def _first(wrong: Tensor) -> int:
    return int(wrong.to(torch.uint8).argmax())


def _compare_isolated(expected: Expected, scale: Scale, b: Tensor, e: Tensor, a: Tensor, path: str, result: Comparison) -> None:
    """Refuses many errors as large as the baseline's isolated ones: a value that rounds to its neighbour excuses others that do, and not all of them."""
    own = others = 0
    suspects = []
    for start, parts in chunks(b, e, a):
        base, exact, actual = (part.to(torch.float64) for part in parts)
        own += int(scale.is_isolated(base, exact).sum())
        off = scale.is_isolated(actual, exact) & scale.is_isolated(actual, base)
        others += int(off.sum())
        suspects.append(off.nonzero().reshape(-1) + start)
    most = _AS_MANY * own + _FEW_ISOLATED
    if others <= most:
        return
    left = torch.cat(suspects)
    if others * 1000 <= a.numel():
        # It may round at other places than torch does.
        for near in expected.nearby():
            tensor = tensor_at(near, path)
            if tensor is None or tensor.numel() * (2 if tensor.is_complex() else 1) != a.numel():
                break
            values = real_parts(tensor).reshape(-1)[left].to(torch.float64)
            # Where two are nearly tied, any mixture of both may come out: what the reference gives there is as far off for inputs that differ as little.
            is_steady = ~scale.is_isolated(values, e.reshape(-1)[left].to(torch.float64))
            left = left[scale.is_isolated(a.reshape(-1)[left].to(torch.float64), values) & is_steady]
            if left.numel() <= most:
                return
    if expected.nan.admits_finite:
        left = left[~excuses.next_to_overflow(expected, path, a.reshape(-1))[left]]
        if left.numel() <= most:
            return
    result.add(path, f"{left.numel()} of {a.numel()} values are off by more than rounding does; of the reference's own only {own} are", _TOO_MANY)


def _spread(baseline: Tensor, actual: Tensor) -> Tensor:
    """Where a candidate gives what is not finite in the place of a finite value, or a NaN in that of an inf."""
    return ~torch.isfinite(actual) & torch.isfinite(baseline) | torch.isnan(actual) & torch.isinf(baseline)


def _share_of_spread(baseline: Tensor, actual: Tensor) -> float:
    """In what part of an output values that are not finite may have come from those of the inputs by way of sums that the reference does not make.

    Transforms, running sums and differences carry a NaN or an inf as far as they reach, to a whole image, say.
    """
    count = sum(int(_spread(b.to(torch.float64), a.to(torch.float64)).sum()) for _start, (b, a) in chunks(baseline, actual))
    return count / actual.numel()


def element_ratio(scale: Scale, b: Tensor, e: Tensor, a: Tensor, nan: NanRule, spread: bool = False, most: float = math.inf) -> Tensor:
    """Error over tolerance of flat float64 slices of a type whose largest value is `most`; inf where a NaN or an inf is in the wrong place, unless it has
    `spread` there.

    An element near the baseline is as good as one near the float64 value: they may differ where the reference rounds or branches.
    """
    ratio = torch.minimum(scale.ratio(a, e), scale.ratio(a, b))
    finite_b, finite_e = torch.isfinite(b), torch.isfinite(e)
    # A NaN compares as false everywhere: what is not found equal or near below is infinitely wrong.
    ratio = torch.where(torch.isnan(ratio), torch.inf, ratio)
    ratio = torch.where(finite_b & ~finite_e, torch.nan_to_num(scale.ratio(a, b), nan=torch.inf).masked_fill(a == e, 0.0), ratio)
    alike = (a == b) | (torch.isnan(a) & torch.isnan(b)) | (~finite_e & ((a == e) | (torch.isnan(a) & torch.isnan(e))))
    ratio = torch.where(~finite_b, torch.where(alike, 0.0, torch.inf), ratio)
    # Where the declared precision overflows and the exact value does not, the reference gives no answer.
    ratio = torch.where(~finite_b & finite_e, 0.0, ratio)
    if spread:
        ratio = torch.where(_spread(b, a), 0.0, ratio)
    if nan.admits_finite:
        finite_a = torch.isfinite(a)
        overflows = finite_b & ~finite_a & (b.abs() >= min(most * _NEAR_OVERFLOW, most**_NEAR_EXPONENT))
        ratio = torch.where(~finite_b & finite_a | overflows, 0.0, ratio)
    return torch.where(torch.isnan(b), 0.0, ratio) if nan.admits_anything else ratio
