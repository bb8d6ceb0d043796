"""How far an output may be from what is expected (see "Tolerance" in WORKERS.md): limits that scale with the values and follow the dtype."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor

_RELATIVE = {torch.float64: 1e-8, torch.float32: 2.2e-3, torch.float16: 4e-3, torch.bfloat16: 1.6e-2}
#: float32 where nothing below float32 is allowed: the ten bits of TF32 are off by 4e-4 of the scale, and by five times that in one element
#: of a million; sums in any order by 1e-5.
_FULL_FLOAT32 = 1e-4
#: The same for an output of few elements: it may be the small rest of a sum that cancels, whose size says little about what rounding did.
_FEW_FLOAT32, _FEW = 5e-4, 64
#: Where a few outputs are far larger than the others, the scale is the mean, but no less than this part of the rms.
_LEAST_OF_RMS = 0.01
#: The baseline's own largest error counts this many times.
NOISE_FACTOR = 4.0
#: Isolated errors of the baseline (a rounded index, a sign at zero) raise the limit to no more than this part of the scale.
_NOISE_CAP = 0.1
_CHUNK = {"cpu": 1 << 18, "cuda": 1 << 24}


class Precision(Enum):
    """What a problem's policy allows inside a kernel for float32 results."""

    FULL = "float32"
    TF32 = "tf32"


def relative_tolerance(dtype: torch.dtype, precision: Precision, elements: int) -> float:
    """The part of the scale that an output of this dtype and of so many elements may be off; for a complex one, that of its parts."""
    if dtype.is_complex:
        dtype = torch.float64 if dtype == torch.complex128 else torch.float32
    if dtype == torch.float32 and precision is Precision.FULL:
        return _FULL_FLOAT32 if elements >= _FEW else _FEW_FLOAT32
    return _RELATIVE.get(dtype, 2 * torch.finfo(dtype).eps)


def real_parts(tensor: Tensor) -> Tensor:
    """A complex tensor as pairs of reals; any other tensor itself."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def chunks(*tensors: Tensor) -> Iterator[tuple[int, tuple[Tensor, ...]]]:
    """Equal slices of flattened tensors, each with its start: bounds the memory a comparison takes and stays in the cache."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    size = _CHUNK[flat[0].device.type]
    for start in range(0, flat[0].numel(), size):
        yield start, tuple(part[start : start + size] for part in flat)


@dataclass(frozen=True)
class Scale:
    """What one expected output allows: computed once per expectation, used by every comparison with it."""

    relative: float
    #: The size of a typical element.
    size: float
    noise: float

    @classmethod
    def of(cls, precise: Tensor, baseline: Tensor, precision: Precision) -> Scale:
        """`precise` is the float64 expectation, `baseline` the reference at declared precision: both real, of one shape."""
        squares = sizes = errors = worst = 0.0
        count = 0
        for _start, (e, b) in chunks(precise, baseline):
            e = e.to(torch.float64)
            # Without a float64 run the expectation is the baseline itself.
            error = b.to(torch.float64).sub_(e).abs_() if precise is not baseline else None
            # A sum with anything in it that is not finite is not finite: quicker to see than by looking at every element.
            square, off = float(e.dot(e)), float(error.sum()) if error is not None else 0.0
            if not math.isfinite(square + off):
                finite = torch.isfinite(e) if error is None else torch.isfinite(error)
                e, error = e[finite], None if error is None else error[finite]
                square, off = float(e.dot(e)), float(error.sum()) if error is not None else 0.0
            squares += square
            sizes += float(torch.linalg.vector_norm(e, ord=1))
            errors += off
            worst = max(worst, float(error.max())) if error is not None and error.numel() else worst
            count += e.numel()
        rms, mean, typical = ((squares / count) ** 0.5, sizes / count, errors / count) if count else (0.0, 0.0, 0.0)
        # The typical error counts in full: where the reference itself is mostly noise, nobody can be asked for more.
        noise = min(NOISE_FACTOR * worst, max(_NOISE_CAP * rms, NOISE_FACTOR * NOISE_FACTOR * typical))
        return cls(relative_tolerance(baseline.dtype, precision, precise.numel()), max(mean, _LEAST_OF_RMS * rms), noise)

    def quick_ratio(self, actual: Tensor, expected: Tensor) -> Tensor:
        """Error over allowed error per element in the expectation's own precision; NaN or more than 1 where a closer look is needed."""
        # What is allowed may be more than the dtype holds: of large inputs the reference itself overflows.
        most = torch.finfo(expected.dtype).max
        allowed = expected.abs().mul_(self.relative).add_(min(self.relative * self.size, most)).clamp_min_(min(self.noise, most))
        return actual.to(expected.dtype).sub(expected).abs_().div_(allowed)

    def ratio(self, actual: Tensor, expected: Tensor) -> Tensor:
        """Error over allowed error per element; 0 where equal, inf where nothing is allowed."""
        error = (actual - expected).abs()
        allowed = (self.relative * (self.size + expected.abs())).clamp_min(self.noise)
        return torch.where(error == 0, 0.0, error / allowed)
