"""What one call should give, and what else the reference gives that excuses results which are not that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .tolerance import Distance, Precision, Scale


class NanRule(Enum):
    """What a NaN of the reference asks of the candidate."""

    MUST_MATCH = "must match"
    #: In the draw with special values: a NaN is no answer. `0 * inf` is one for a matrix product and none for the row scaling equal to it.
    #: The candidate's own may reach further than the reference's (`_share_of_spread` in `compare_floats.py`); one that another value decides may not be lost, see
    #: `keeps_nan`.
    ANYTHING = "anything"
    #: In draws of finite inputs that are not the problem's own, which gives none: where sums overflow, or a logarithm is asked for what it is not
    #: defined for, a finite value is as good.
    FINITE = "finite"
    #: Where a few of the problem's own elements changed their sign: a NaN as in `ANYTHING`, an infinity as in `FINITE`.
    NEITHER = "neither"

    @property
    def admits_anything(self) -> bool:
        """Whether there may be anything in the place of a NaN."""
        return self in (NanRule.ANYTHING, NanRule.NEITHER)

    @property
    def admits_finite(self) -> bool:
        """Whether there may be a finite value in the place of what is none."""
        return self in (NanRule.FINITE, NanRule.NEITHER)


class Extent(Enum):
    """How much of an output is looked at."""

    ALL = "all"
    #: Where only the answer matters, not what is wrong.
    FIRST_MISMATCH = "up to the first mismatch"


@dataclass
class Expected:
    """What one call should give: `baseline` at declared precision, `precise` the same in float64 or the baseline itself."""

    baseline: Any
    precise: Any
    nan: NanRule = NanRule.MUST_MATCH
    extent: Extent = Extent.ALL
    precision: Precision = Precision.TF32
    #: Whether `baseline` is known to be noise where it is far from `precise`.
    noisy: bool = False
    scales: dict[str, Scale] = field(default_factory=dict)
    #: How far `baseline` is from `precise`, tensor by tensor of the latter, by identity; what is missing is computed when it is needed.
    distances: Mapping[int, Distance] = field(default_factory=dict)
    #: What it gives in float64 where it overflows at declared precision on its way to something else: as good an answer; None otherwise.
    without_overflow: Any = None
    #: Whether values far below all others count, where they are most of them: not in draws in which they were made so.
    looks_at_small: bool = False
    #: Whether a number of Python's is as good as an array of one element without dimensions, as numpy's own numbers are.
    admits_numbers: bool = False
    #: What the reference gives for inputs that differ in their last digits, run by run.
    nearby: Callable[[], Iterable[Any]] = tuple
    #: What it gives where its operators round otherwise, run by run.
    rounded: Callable[[], Iterable[Any]] = tuple
    #: What it gives for inputs that are a quarter larger, and the same in float64; nothing where there is no such pair.
    enlarged: Callable[[], Iterable[tuple[Any, Any]]] = tuple
    #: What it gives for inputs without their NaN, run by run; where asked, without infinities as well.
    without_nan: Callable[[bool], Iterable[Any]] = lambda _infinite: ()
    #: Whether what a NaN of the inputs decides has to be so, where NaN are no answer otherwise: not where elements are chosen, by something that it may decide.
    keeps_nan: bool = False
    #: Whether another draw takes the place of this one where outputs of a candidate say nothing: a NaN has reached most of them, or decides what is chosen.
    is_replaceable: bool = False
    #: Whether the reference chooses elements.
    chooses: bool = False
    #: The paths of tensors of which rounding decides what they hold: they may hold anything.
    free: frozenset[str] = frozenset()
    #: Whether the forward pass of a problem that is trained overflows, in a draw that is none of the problem's own.
    overflows_forward: bool = False
    #: Whether exponentials of it saturate in such a draw: a backward pass that makes them anew from what they add up to is off by the digits of the largest
    #: exponent, and one that subtracts a sum by those of its terms, where the reference multiplies by zero.
    saturates: bool = False
    #: The least size of outputs by their path: that of a sum which cancels says nothing of what rounding did to it.
    floors: Mapping[str, float] = field(default_factory=dict)
