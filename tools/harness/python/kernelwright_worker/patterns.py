"""Words for a wrong output: the worst element, how many are wrong, and the pattern they make where it is a simple one."""

from __future__ import annotations

import torch
from torch import Tensor

from .device import CUDA_POISON_BYTE, POISON_BYTE, POISON_FREED_BYTE
from .layout import indices_of

_SAMPLE, _STRIDE = 4096, 1 << 20
#: Fewer places than this are in equal steps by chance.
_FEWEST_STEPS = 4
_NAMES = {1: ("element",), 2: ("row", "column")}


def explain(actual: Tensor, expected: Tensor, wrong: Tensor, worst: int) -> str:
    """A sentence on an output of which at least one element is wrong. All of one shape; `worst` is the flat index of the worst element."""
    index = [int(i) for i in indices_of(torch.tensor(worst), actual.shape)]
    value, wanted = _item(actual[tuple(index)]), _item(expected[tuple(index)])
    count, total = int(wrong.sum()), wrong.numel()
    text = f"value {_number(value)}{f' at {index}' if index else ''}, expected {_number(wanted)}"
    if total == 1:
        return text
    text = f"{text}; {count} of {total} elements differ" if count < total else f"{text}; all {total} elements differ"
    return "".join([text, *(f", {note}" for note in (_values(actual, expected, wrong), _places(wrong) if 1 < count < total else "") if note)])


def _item(element: Tensor) -> object:
    # Through float64: the eight-bit floats have no `item` of their own everywhere.
    return (element.double() if element.is_floating_point() else element).item()


def _number(value: object) -> str:
    if isinstance(value, complex):
        return f"{value.real:.6g}{value.imag:+.6g}j"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _values(actual: Tensor, expected: Tensor, wrong: Tensor) -> str:
    """What the wrong values have in common."""
    where = _some(wrong)
    got, wanted = actual.reshape(-1)[where], expected.reshape(-1)[where]
    if wanted.is_floating_point() and bool(torch.isnan(wanted).all()):
        return "a NaN is lost, as by fmaxf, tl.maximum and comparisons"
    if bool((got == 0).all()):
        return "they are zero"
    raw = got.contiguous().view(torch.uint8)
    if any(bool((raw == byte).all()) for byte in (POISON_BYTE, POISON_FREED_BYTE, CUDA_POISON_BYTE)):
        return "they look like memory that was never written"
    if got.is_complex() or got.dtype == torch.bool:
        return ""
    got, wanted = got.double(), wanted.double()
    if bool(torch.isnan(got).all()):
        return "they are NaN"
    if got.numel() < 8:
        return ""
    if _transposed(actual, expected):
        return "the output looks transposed"
    if bool((got == got[0]).all()):
        return f"they all are {_number(float(got[0]))}"
    usable = torch.isfinite(got) & torch.isfinite(wanted) & (wanted != 0)
    factors = got[usable] / wanted[usable]
    if factors.numel() >= 8:
        mean = float(factors.mean())
        # What differs from 1 by no more than the factors do among each other is no factor.
        if abs(mean - 1) >= 0.001 and float((factors - mean).abs().max()) < min(0.01 * abs(mean), 0.25 * abs(mean - 1)):
            return f"they are about {mean:.4g} times the expected values"
    offsets = (got - wanted)[torch.isfinite(got) & torch.isfinite(wanted)]
    if offsets.numel() >= 8:
        mean = float(offsets.mean())
        if mean and float((offsets - mean).abs().max()) < 0.01 * abs(mean):
            return f"they are off by about {mean:.4g}"
    return ""


def _some(wrong: Tensor) -> Tensor:
    """Flat indices of some wrong elements, found without listing all of them."""
    flat = wrong.reshape(-1)
    found: list[Tensor] = []
    for start in range(0, flat.numel(), _STRIDE):
        found.append(flat[start : start + _STRIDE].nonzero().reshape(-1) + start)
        if sum(part.numel() for part in found) >= _SAMPLE:
            break
    return torch.cat(found)[:_SAMPLE]


def _transposed(actual: Tensor, expected: Tensor) -> bool:
    if actual.dim() < 2 or actual.shape[-1] != actual.shape[-2] or actual.shape[-1] < 2:
        return False
    corner = min(64, actual.shape[-1])
    got = actual[..., :corner, :corner].double()
    wanted = expected[..., :corner, :corner].double()
    return bool(torch.allclose(got, wanted.transpose(-1, -2), rtol=1e-2, atol=1e-6)) and not bool(torch.allclose(got, wanted, rtol=1e-2, atol=1e-6))


def _places(wrong: Tensor) -> str:
    """Which indices of which dimension the wrong elements keep to."""
    notes = []
    for dimension in range(wrong.dim()):
        size = wrong.shape[dimension]
        others = [d for d in range(wrong.dim()) if d != dimension]
        hit = wrong.any(dim=tuple(others)) if others else wrong
        places = hit.nonzero().reshape(-1)
        note = _range(places.tolist(), size, _name(dimension, wrong.dim())) if 0 < len(places) < size else ""
        if note:
            notes.append(note)
    return "all " + " and ".join(notes) if notes else ""


def _name(dimension: int, dimensions: int) -> str:
    names = _NAMES.get(dimensions)
    return f"{names[dimension]}s" if names else f"indices of dimension {dimension}"


def _range(places: list[int], size: int, name: str) -> str:
    first, last = places[0], places[-1]
    if len(places) == 1:
        return f"in {name} = {first}"
    if len(places) == last - first + 1:
        if last == size - 1:
            return f"in {name} >= {first}"
        return f"in {name} <= {last}" if first == 0 else f"in {name} {first} to {last}"
    step = places[1] - places[0]
    if len(places) >= _FEWEST_STEPS and all(b - a == step for a, b in zip(places, places[1:])):
        return f"in every {step}{_ordinal(step)} of {name} from {first}"
    return ""


def _ordinal(n: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, "th")
