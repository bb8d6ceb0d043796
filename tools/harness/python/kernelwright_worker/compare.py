"""Decides whether outputs are what the reference expects, and says of each that is not what a reader can act on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from . import excuses, patterns, tails
from .expected import Expected, Extent, NanRule
from .layout import overlaps
from .paths import GRADIENTS, member, named_tensors, tensor_at
from .tolerance import FEW, Precision, Scale, chunks, real_parts
from .trees import dtype_name

#: So many integers of an output, more of many, or one in `_RARE`, may be those that the reference gives for inputs a few roundings away.
_FEW_INTEGERS, _MORE, _MANY, _RARE = 2, 8, 4096, 100_000
#: As many integers as differ in some of the runs in which operators round otherwise, and this times as many, where they are no more than one in so many.
_ROUNDED_RUNS, _MOST_INTEGERS = 4, 50
#: Errors as large as the baseline's isolated ones: so many times as many as it has, and so many more. The figure that stands for too many.
_AS_MANY, _FEW_ISOLATED, _TOO_MANY = 4, 8, 10.0
#: Gradients behind exponentials that saturate may be off by so much more than others: torch's own fused attention is by thirty to a hundred times as much.
_SATURATED = 150.0
#: An output of which this part may be noise, on average, says little.
_MOST_NOISE = 0.5
#: That part of an output what is not finite may have spread to, so that enough is left to be right.
_MOST_SPREAD = 0.5
#: Stands for an error without bound in JSON.
_WORST_RATIO = 1e30
_MAX_MISMATCHES = 8
#: Values of such a part of the largest that a type has, or with such a part of its exponent, overflow where they come of sums in another order, or in parts
#: of which each has grown by itself.
_NEAR_OVERFLOW, _NEAR_EXPONENT = 2.0**-12, 0.75
#: Why results may be anything where inputs have a NaN.
CHOSEN = "a NaN of the inputs may decide what is chosen, as it fails all comparisons"


@dataclass
class Comparison:
    """Mismatches and the largest error over tolerance among what is numeric."""

    mismatches: list[dict[str, Any]] = field(default_factory=list)
    worst: float = 0.0
    #: Why the outputs say nothing, where that may be said.
    says_nothing: str | None = None
    #: Whether a NaN that the inputs have was lost, or decided what it does not.
    mistakes_nan: bool = False

    def add(self, output: str, detail: str, ratio: float | None = None) -> None:
        """Notes a mismatch."""
        self.mismatches.append({"output": output, "detail": detail, "error_over_tolerance": _finite(ratio)})

    def to_json(self) -> dict[str, Any]:
        """The reply of `compare`: worst mismatches first."""
        ordered = sorted(self.mismatches, key=lambda item: -(item["error_over_tolerance"] or math.inf))
        return {"mismatches": ordered[:_MAX_MISMATCHES], "error_over_tolerance": _finite(self.worst)}


def _finite(ratio: float | None) -> float | None:
    return ratio if ratio is None else min(ratio, _WORST_RATIO)


def compare(expected: Expected, actual: Any, path: str) -> Comparison:
    """Compares a whole value; `path` names it, e.g. `output`."""
    result = Comparison()
    # Threads that wait for each other in thousands of short steps are slower than one, by far on a busy machine.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _compare(expected, expected.baseline, expected.precise, actual, path, result)
    finally:
        torch.set_num_threads(threads)
    return result


def _compare(expected: Expected, baseline: Any, precise: Any, actual: Any, path: str, result: Comparison) -> None:
    if isinstance(baseline, Tensor):
        if isinstance(actual, Tensor):
            _compare_tensors(expected, baseline, precise, actual, path, result)
        elif expected.admits_numbers and not baseline.dim() and _is_number_of(baseline.dtype, actual):
            _compare_tensors(expected, baseline, precise, torch.tensor(actual, dtype=baseline.dtype, device=baseline.device), path, result)
        else:
            result.add(path, f"{_kind(actual)}, expected {_kind(baseline)}")
    elif isinstance(baseline, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(baseline):
            result.add(path, f"{_kind(actual)}, expected {_kind(baseline)}")
            return
        for i, (b, e, a) in enumerate(zip(baseline, precise, actual)):
            _compare(expected, b, e, a, f"{path}[{i}]", result)
    elif isinstance(baseline, Mapping):
        if not isinstance(actual, Mapping) or actual.keys() != baseline.keys():
            result.add(path, f"{_kind(actual)}, expected {_kind(baseline)}")
            return
        for key in baseline:
            _compare(expected, baseline[key], precise[key], actual[key], member(path, key), result)
    elif expected.admits_numbers and isinstance(actual, Tensor) and not actual.dim() and _is_number_of(actual.dtype, baseline):
        _compare(expected, baseline, precise, actual.item(), path, result)
    elif isinstance(baseline, (float, complex)) and type(actual) is type(baseline):
        dtype = torch.complex64 if isinstance(baseline, complex) else torch.float32
        wide = torch.complex128 if isinstance(baseline, complex) else torch.float64
        b, e, a = torch.tensor(baseline, dtype=dtype), torch.tensor(precise, dtype=wide), torch.tensor(actual, dtype=dtype)
        _compare_tensors(expected, b, e, a, path, result)
    elif type(actual) is not type(baseline) or actual != baseline:
        result.add(path, f"{_told(actual)}, expected {_told(baseline)}")


def _is_number_of(dtype: torch.dtype, value: object) -> bool:
    """Whether a number of Python's is of a dtype's kind, and one that it holds."""
    if dtype == torch.bool or isinstance(value, bool):
        return dtype == torch.bool and isinstance(value, bool)
    if dtype.is_floating_point or dtype.is_complex:
        return type(value) is (complex if dtype.is_complex else float)
    bounds = torch.iinfo(dtype)
    return type(value) is int and bounds.min <= value <= bounds.max


def is_rounding_alone(expected: Expected) -> bool:
    """Whether so much of an output is noise that zeros would be within it."""
    pairs = zip(named_tensors(expected.baseline, "output"), named_tensors(expected.precise, "output"))
    for (path, baseline), (_path, precise) in pairs if expected.noisy else ():
        if baseline.is_floating_point() and baseline.numel():
            scale = Scale.of(precise, baseline, expected.precision, noisy=True)
            if scale.noise > _MOST_NOISE * float(precise.to(torch.float64).abs().mean()):
                return True
    return False


@dataclass(frozen=True)
class Size:
    """How large the elements of a tensor are on average, and how many there are."""

    mean: float
    elements: int

    @property
    def is_of_few(self) -> bool:
        """Whether it may be the small rest of sums that cancel."""
        return self.elements < FEW


def sizes(value: Any, path: str) -> dict[str, Size]:
    """Those of the tensors of a value that have elements of two bytes or more and floating, by path."""
    floating = [(name, tensor) for name, tensor in named_tensors(value, path) if tensor.is_floating_point() and tensor.dtype.itemsize > 1 and tensor.numel()]
    return {name: Size(float(torch.linalg.vector_norm(tensor, ord=1, dtype=torch.float64)) / tensor.numel(), tensor.numel()) for name, tensor in floating}


def _compare_tensors(expected: Expected, baseline: Tensor, precise: Tensor, actual: Tensor, path: str, result: Comparison) -> None:
    # An empty tensor has no memory to read, so it arrives on the CPU from everywhere.
    device = baseline.device.type if actual.numel() == 0 else actual.device.type
    for what, got, wanted in (
        ("device", device, baseline.device.type),
        ("dtype", dtype_name(actual.dtype), dtype_name(baseline.dtype)),
        ("shape", list(actual.shape), list(baseline.shape)),
    ):
        if got != wanted:
            result.add(path, f"{what} {got}, expected {wanted}")
            return
    if baseline.numel() == 0:
        return
    if overlaps(actual) and not overlaps(baseline):
        result.add(path, "elements that share memory, as in an expanded tensor; every element of the reference's has its own")
        return
    actual = actual.detach().to(baseline.device)
    if baseline.is_floating_point() or baseline.is_complex():
        _compare_floats(expected, baseline, precise, actual, path, result)
        return
    wrong = _exact_difference(baseline, actual)
    if precise is not baseline and precise.dtype == baseline.dtype and precise.shape == baseline.shape:
        # Where float64 gives another integer, rounding decides, and both are right.
        wrong &= _exact_difference(precise, actual)
    if bool(wrong.any()) and expected.nan.admits_anything:
        # An index that a NaN decides is no answer either.
        for without in expected.without_nan(True):
            other = tensor_at(without, path)
            if other is not None and other.shape == actual.shape and other.dtype == baseline.dtype:
                wrong &= ~_exact_difference(baseline, other)
    if bool(wrong.any()) and _may_be_rounding(int(wrong.sum()), expected, baseline, path):
        # A value at a rounding border, two that are nearly tied: a kernel that rounds in another order than torch gives the neighbour.
        for other in chain(expected.nearby(), expected.rounded()):
            near = tensor_at(other, path)
            if near is not None and near.shape == actual.shape and near.dtype == actual.dtype:
                wrong &= _exact_difference(near, actual)
            if not bool(wrong.any()):
                break
    if bool(wrong.any()) and expected.is_replaceable:
        result.says_nothing = CHOSEN
    elif bool(wrong.any()):
        result.add(path, patterns.explain(actual, baseline, wrong, int(wrong.reshape(-1).to(torch.uint8).argmax())))


def _may_be_rounding(count: int, expected: Expected, baseline: Tensor, path: str) -> bool:
    """Whether so many integers may be others because of rounding: a few, or some times as many as where the reference's operators round otherwise."""
    if count <= few_of(baseline.numel()):
        return True
    if count * _MOST_INTEGERS > baseline.numel():
        return False
    runs = (tensor_at(results, path) for results in islice(expected.rounded(), _ROUNDED_RUNS))
    return any(run is not None and run.shape == baseline.shape and count <= _AS_MANY * int(_exact_difference(baseline, run).sum()) for run in runs)


def _compare_floats(expected: Expected, baseline: Tensor, precise: Tensor, actual: Tensor, path: str, result: Comparison) -> None:
    b_parts, e_parts, a_parts = map(real_parts, (baseline, precise, actual))
    if path not in expected.scales:
        floor, distance = expected.floors.get(path, 0.0), expected.distances.get(id(precise))
        scale = Scale.of(e_parts, b_parts, expected.precision, expected.noisy, floor, distance)
        expected.scales[path] = scale.widened(_SATURATED) if expected.saturates and path.startswith(GRADIENTS) else scale
    scale = expected.scales[path]
    share = _share_of_spread(b_parts, a_parts) if expected.nan.admits_anything else 0.0
    if share > _MOST_SPREAD and expected.is_replaceable:
        result.says_nothing = "as this candidate computes, a NaN and an inf of the inputs reach most of its outputs"
        return
    spread = 0.0 < share <= _MOST_SPREAD
    #: The largest error of all, and of what is within its limit.
    largest, within, where = 0.0, 0.0, 0
    wrong: Tensor | None = None
    excused = False
    for start, (b, e, a) in chunks(b_parts, e_parts, a_parts):
        quick = scale.quick_ratio(a, e)
        fine = quick <= 1
        if bool(fine.all()):
            within = max(within, float(quick.max()))
            largest = max(largest, within)
            continue
        suspects = fine.logical_not().nonzero().reshape(-1)
        most = torch.finfo(b.dtype).max
        ratio = element_ratio(scale, *(part[suspects].to(torch.float64) for part in (b, e, a)), expected.nan, spread, most)
        value, index = ratio.max(dim=0)
        if float(value) > max(largest, 1.0):
            where = start + int(suspects[index])
        within = max(within, float(ratio.where(ratio <= 1, 0.0).max()), float(quick.where(fine, 0.0).max()))
        largest = max(largest, float(value), within)
        if largest <= 1:
            continue
        if expected.extent is Extent.FIRST_MISMATCH:
            break
        if wrong is None:
            wrong = torch.zeros(a_parts.numel(), dtype=torch.bool, device=a_parts.device)
        wrong[suspects[ratio > 1] + start] = True
    decided = excuses.decided_by_nan(expected, scale, b_parts, a_parts, path) if expected.keeps_nan else None
    if wrong is not None:
        if int(wrong.sum()) <= few_of(wrong.numel()):
            excuses.neighbours(expected, scale, (e_parts, a_parts), path, wrong)
        if expected.precision is Precision.TF32 and baseline.dtype == torch.float32:
            excuses.tail(scale, e_parts, a_parts, wrong)
        if expected.nan.admits_anything and bool(wrong.any()):
            excuses.without_nan(expected, scale, a_parts, path, wrong)
        if expected.without_overflow is not None and bool(wrong.any()):
            excuses.without_overflow(expected, a_parts, path, wrong)
        if expected.nan.admits_finite and bool(wrong.any()):
            wrong &= ~excuses.next_to_overflow(expected, path, wrong)
        if expected.overflows_forward and path.startswith(GRADIENTS):
            # A backward pass that multiplies by what it has kept of an infinity, where the reference selects, has a NaN in the place of a zero.
            wrong &= torch.isfinite(a_parts.reshape(-1))
        if not bool(wrong.any()):
            wrong, largest, excused = None, 1.0, True
        elif not wrong[where]:
            where = int(wrong.to(torch.uint8).argmax())
    result.mistakes_nan |= decided is not None
    if wrong is None and decided is not None:
        wrong, largest, where = decided, math.inf, int(decided.to(torch.uint8).argmax())
    result.worst = max(result.worst, within if excused and wrong is None else largest)
    if wrong is not None:
        wrong = wrong.view(*baseline.shape, 2).any(-1) if baseline.is_complex() else wrong.view(baseline.shape)
        result.add(path, patterns.explain(actual, precise, wrong, where // 2 if baseline.is_complex() else where), largest)
    elif largest > 1:
        result.add(path, "differs", largest)
        return
    if scale.may_hold_isolated(largest):
        _compare_isolated(expected, scale, b_parts, e_parts, a_parts, path, result)
    if expected.looks_at_small and (detail := tails.explain(scale, b_parts, e_parts, a_parts, expected.precision)):
        result.add(path, detail, _TOO_MANY)


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


def few_of(elements: int) -> int:
    """How many of an output's elements rounding may decide."""
    return max(_FEW_INTEGERS, min(_MORE, elements // _MANY), elements // _RARE)


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


def _exact_difference(baseline: Tensor, actual: Tensor) -> Tensor:
    if baseline.dtype == torch.bool:
        # As bytes: a bool that holds neither 0 nor 1 was never written.
        return baseline.contiguous().view(torch.uint8) != actual.contiguous().view(torch.uint8)
    return baseline != actual


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {dtype_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, Mapping):
        return f"dict with keys {_short(list(value))}"
    return "None" if value is None else type(value).__name__


def _told(value: object) -> str:
    return _kind(value) if value is None else f"{_kind(value)} {_short(value)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
