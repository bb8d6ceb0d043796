"""Decides whether outputs are what the reference expects, and says of each that is not what a reader can act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from . import patterns
from .compare_floats import compare_floats
from .comparison import Comparison, few_of
from .expected import Expected
from .layout import overlaps
from .paths import member, named_tensors, tensor_at
from .tolerance import FEW, Scale
from .trees import dtype_name

#: As many integers as differ in some of the runs in which operators round otherwise, and this times as many, where they are no more than one in so many.
_ROUNDED_RUNS, _AS_MANY, _MOST_INTEGERS = 4, 4, 50
#: An output of which this part may be noise, on average, says little.
_MOST_NOISE = 0.5
#: What comes to so many integers in runs whose inputs differ in their last digits, or whose operators round otherwise, follows from neither.
_CHAOTIC = 4
#: Why results may be anything where inputs have a NaN.
CHOSEN = "a NaN of the inputs may decide what is chosen, as it fails all comparisons"


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
        if got != wanted and not (what == "shape" and path in expected.free):
            result.add(path, f"{what} {got}, expected {wanted}")
            return
    if baseline.numel() == 0 or path in expected.free:
        return
    if overlaps(actual) and not overlaps(baseline):
        result.add(path, "elements that share memory, as in an expanded tensor; every element of the reference's has its own")
        return
    actual = actual.detach().to(baseline.device)
    if baseline.is_floating_point() or baseline.is_complex():
        compare_floats(expected, baseline, precise, actual, path, result)
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
        at = wrong.reshape(-1).nonzero().reshape(-1)
        runs = [_integers_at(at, baseline)]
        for other in chain(expected.nearby(), expected.rounded()):
            near = tensor_at(other, path)
            if near is not None and near.shape == actual.shape and near.dtype == actual.dtype:
                wrong &= _exact_difference(near, actual)
                runs.append(_integers_at(at, near))
            if not bool(wrong.any()):
                break
        # The steps after which an orbit leaves: it may be any number where no two runs agree.
        distinct = 1 + (torch.stack(runs).sort(dim=0).values.diff(dim=0) != 0).sum(0)
        chaotic = torch.zeros(wrong.numel(), dtype=torch.bool, device=wrong.device).index_fill_(0, at[distinct >= _CHAOTIC], True)
        wrong &= ~chaotic.view(wrong.shape)
    if bool(wrong.any()) and expected.is_replaceable:
        result.says_nothing = CHOSEN
    elif bool(wrong.any()):
        result.add(path, patterns.explain(actual, baseline, wrong, int(wrong.reshape(-1).to(torch.uint8).argmax())))


def _integers_at(at: Tensor, values: Tensor) -> Tensor:
    # Not every type has an order.
    return values.to(torch.int64).reshape(-1)[at]


def _may_be_rounding(count: int, expected: Expected, baseline: Tensor, path: str) -> bool:
    """Whether so many integers may be others because of rounding: a few, or some times as many as where the reference's operators round otherwise."""
    if count <= few_of(baseline.numel()):
        return True
    if count * _MOST_INTEGERS > baseline.numel():
        return False
    runs = (tensor_at(results, path) for results in islice(expected.rounded(), _ROUNDED_RUNS))
    return any(run is not None and run.shape == baseline.shape and count <= _AS_MANY * int(_exact_difference(baseline, run).sum()) for run in runs)


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
