"""How far an output may be from what is expected (see "Tolerance" in WORKERS.md): limits that scale with the values and follow the dtype."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import torch
from torch import Tensor

_RELATIVE = {torch.float64: 1e-8, torch.float32: 2.2e-3, torch.float16: 4e-3, torch.bfloat16: 1.6e-2}
#: float32 where nothing below float32 is allowed: the ten bits of TF32 are off by 4e-4 of the scale, and by five times that in one element
#: of a million; sums in any order by 1e-5.
_FULL_FLOAT32 = 1e-4
#: The same where the reference only moves values about, as sorting does. Who rounds on the way has less than it.
_COPIED_FLOAT32 = 1e-6
#: The same for an output of few elements: it may be the small rest of a sum that cancels, whose size says little about what rounding did.
_FEW_FLOAT32, FEW = 5e-4, 64
#: Where a few outputs are far larger than the others, the scale is the mean, but no less than this part of the rms.
_LEAST_OF_RMS = 0.01
#: The baseline's own largest error counts this many times.
NOISE_FACTOR = 4.0
#: Isolated errors of the baseline (a rounded index, a sign at zero) raise the limit to no more than this part of the scale.
_NOISE_CAP = 0.1
#: The largest error of a baseline is an isolated one where it is so many times the typical one.
_ISOLATED = 100.0
#: The typical error counts so many times where the baseline is mostly noise. It is, if changes of inputs in their last digits move it by no
#: less than one part in so many of that error.
_NOISE_TYPICAL = 16.0
#: A float64 run that is further away than this part of the typical size, and not by noise, is another function: its random numbers are others,
#: or it takes another branch. Bits that are missing do the same only to floats of 16 bits and less.
_FAR, _FAR_SHORT = 1e-2, 0.2
_CHUNK = {"cpu": 1 << 18, "cuda": 1 << 24}


class Precision(Enum):
    """What a problem's policy allows inside a kernel for float32 results."""

    FULL = "float32"
    TF32 = "tf32"


def relative_tolerance(dtype: torch.dtype, precision: Precision, elements: int, copied: bool = False) -> float:
    """The part of the scale that an output of this dtype and of so many elements may be off; for a complex one, that of its parts. `copied` is whether
    its values are those of inputs."""
    if dtype.is_complex:
        dtype = torch.float64 if dtype == torch.complex128 else torch.float32
    if dtype == torch.float32 and precision is Precision.FULL:
        usual = _COPIED_FLOAT32 if copied else _FULL_FLOAT32
        return usual if elements >= FEW else _FEW_FLOAT32
    return _RELATIVE.get(dtype, 2 * torch.finfo(dtype).eps)


def real_parts(tensor: Tensor) -> Tensor:
    """A complex tensor as pairs of reals; any other tensor itself."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def vanishing(dtype: torch.dtype) -> float:
    """What is lost where results vanish: denormals have few digits, and whoever is fast makes zeros of them. Those of float16 are numbers like others, with
    steps that either side may round to."""
    steps = torch.finfo(dtype)
    return 2.0 * steps.smallest_normal * steps.eps if dtype.itemsize <= 2 and dtype is not torch.bfloat16 else steps.smallest_normal


def chunks(*tensors: Tensor) -> Iterator[tuple[int, tuple[Tensor, ...]]]:
    """Equal slices of flattened tensors, each with its start: bounds the memory a comparison takes and stays in the cache."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    size = _CHUNK[flat[0].device.type]
    for start in range(0, flat[0].numel(), size):
        yield start, tuple(part[start : start + size] for part in flat)


@dataclass(frozen=True)
class Distance:
    """How far the values of a baseline are from the expected ones, over what is finite in both."""

    rms: float
    #: The size of a typical expected element.
    size: float
    #: The typical error and the largest one.
    typical: float
    worst: float
    #: Whether the values are those of inputs, as far as is known.
    copied: bool = False

    @classmethod
    def between(cls, precise: Tensor, baseline: Tensor) -> Distance:
        """That of real tensors of one shape."""
        squares = sizes = errors = worst = 0.0
        count = 0
        for _start, (e, b) in chunks(precise, baseline):
            e = e.to(torch.float64)
            # Without a float64 run the expectation is the baseline itself.
            error = (b.to(torch.float64) - e).abs_() if precise is not baseline else None
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
        return cls(rms, max(mean, _LEAST_OF_RMS * rms), typical, worst)

    @classmethod
    def of_exact(cls, precise: Tensor, baseline: Tensor) -> Distance:
        """That of integers or bools: the part of them that is another one."""
        differ = int((precise != baseline).sum()) / max(1, precise.numel())
        return cls(1.0, 1.0, differ, float(differ > 0))

    @property
    def is_doubtful(self) -> bool:
        """Whether the typical error is so large that it could admit what isolated errors do not."""
        return _NOISE_TYPICAL * self.typical > _NOISE_CAP * self.rms

    def is_noise(self, moved: Distance) -> bool:
        """Whether the error is as small as what changed last digits of inputs move, or nearly."""
        return self.typical <= _NOISE_TYPICAL * moved.typical

    def is_far(self, dtype: torch.dtype) -> bool:
        """Whether rounding does not make an error of this size in a baseline of this dtype."""
        short = dtype.is_floating_point and dtype.itemsize <= 2
        return self.typical > (_FAR_SHORT if short else _FAR) * self.size


@dataclass(frozen=True)
class Scale:
    """What one expected output allows: computed once per expectation, used by every comparison with it."""

    relative: float
    #: The size of a typical element.
    size: float
    noise: float
    #: The same without isolated errors, of which the baseline has few: more of them are no noise.
    everyday: float = math.inf

    @classmethod
    def of(cls, precise: Tensor, baseline: Tensor, precision: Precision, noisy: bool, floor: float = 0.0, distance: Distance | None = None) -> Scale:
        """`precise` is the float64 expectation, `baseline` the reference at declared precision: both real, of one shape.

        `noisy` is whether the baseline is known to be noise where it is far from the expectation; `floor` the least size; `distance` that between
        the two, where it is known.
        """
        distance = distance or Distance.between(precise, baseline)
        # The typical error counts in full there: nobody can be asked for more than the reference gives.
        most = max(_NOISE_CAP * distance.rms, _NOISE_TYPICAL * distance.typical if noisy else 0.0)
        least = vanishing(baseline.dtype)
        noise = max(least, min(NOISE_FACTOR * distance.worst, most))
        everyday = noise if noisy else max(least, min(noise, NOISE_FACTOR * _ISOLATED * distance.typical))
        return cls(relative_tolerance(baseline.dtype, precision, precise.numel(), distance.copied), max(distance.size, floor), noise, everyday)

    def widened(self, times: float) -> Scale:
        """The same that allows so many times as much beside noise."""
        return replace(self, relative=self.relative * times)

    @property
    def has_isolated(self) -> bool:
        """Whether some errors of the baseline are far larger than all others."""
        return self.everyday < self.noise

    def may_hold_isolated(self, largest: float) -> bool:
        """Whether any element can be isolated where the largest error over tolerance is this."""
        return self.has_isolated and largest * self.noise > self.everyday

    def is_isolated(self, actual: Tensor, expected: Tensor) -> Tensor:
        """Which elements are off by more than rounding does everywhere."""
        return (actual - expected).abs() > (self.relative * (self.size + expected.abs())).clamp_min(self.everyday)

    def quick_ratio(self, actual: Tensor, expected: Tensor) -> Tensor:
        """Error over allowed error per element in the expectation's own precision; NaN or more than 1 where a closer look is needed."""
        if expected.dtype.itemsize == 1:
            # There is no arithmetic on floats of eight bits.
            expected = expected.to(torch.float32)
        # What is allowed may be more than the dtype holds: of large inputs the reference itself overflows.
        most = torch.finfo(expected.dtype).max
        allowed = expected.abs().mul_(self.relative).add_(min(self.relative * self.size, most)).clamp_min_(min(self.noise, most))
        return actual.to(expected.dtype).sub(expected).abs_().div_(allowed)

    def ratio(self, actual: Tensor, expected: Tensor) -> Tensor:
        """Error over allowed error per element; 0 where equal, inf where nothing is allowed."""
        error = (actual - expected).abs()
        allowed = (self.relative * (self.size + expected.abs())).clamp_min(self.noise)
        return torch.where(error == 0, 0.0, error / allowed)
