"""How far a reference's own results move where nobody can say which is right: called again, with other last digits of its inputs or of what its operators
give. A candidate that differs by no more is not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from time import perf_counter
from typing import Any, Protocol

import torch
from torch import Tensor

from .channel import WorkerError
from .compare import compare
from .comparison import few_of
from .device import Device
from .draws import transform
from .expected import Expected, Extent
from .failures import lost_the_device
from .outputs import distances, leaves
from .rounding import Rounding
from .tolerance import Distance, real_parts
from .trees import map_tensors, tensors_of

#: Runs that have to agree with the one before them.
_REPEATS = 2
#: The error over tolerance from which on two outputs are far apart: a sample that has its share of the large elements still misses what they add up to.
_FAR = 16.0
#: Ways in which last digits of inputs are changed, and then those of what operators give; two values that are nearly tied come in either order in some of
#: them. Of 8,000 sums of bytes at a border five came to the other side in only two of 16 of the latter: of many more such sums some would in none.
_NUDGES, _ROUNDINGS = 12, 32
#: So many of these show half of what rounding decides.
_FIRST_RUNS = 4
#: Where the reference is slow, there are fewer of the latter.
_ROUNDING_SECONDS = 20.0
#: Whoever takes the first of several that are the same fills one place, where chance fills all: outputs are that much further apart. So many times it is
#: left to chance.
_OTHER_CHOICE, _CHOICES = 4.0, 4
#: What takes the place of a zero, as a part of the largest.
_NEXT_TO_NOTHING = 2.0**-20
#: Numbers are apart by more than this part of themselves and of what is usual beside them; of 64 bits.
_APART, _APART_DOUBLE = 1e-3, 1e-9


class Runs(Protocol):
    """What this needs of a reference."""

    def results(self, *calls: list[Any]) -> list[Any]:
        """What a call gives, and what it writes into its inputs; of several in a row, the last one."""


class Sensitivity:
    """Compares a reference's results with its own for what is nearly the same."""

    def __init__(self, runs: Runs, device: Device, *, orders: bool, decomposes: bool) -> None:
        self._runs = runs
        self._device = device
        #: Whether the problem sorts or chooses the largest, and whether it decomposes matrices.
        self._orders, self._decomposes = orders, decomposes

    def repeats(self, inputs: list[Any], results: Any) -> bool:
        """Whether it gives these results again, within what a candidate may be off."""
        expected = Expected(results, results, extent=Extent.FIRST_MISMATCH, precision=self._device.precision)
        return not any(compare(expected, self._runs.results(inputs), "output").mismatches for _ in range(_REPEATS))

    def are_far(self, first: Any, second: Any) -> bool:
        """Whether two outputs are many times the tolerance apart, or differ in what has none."""
        mismatches = compare(Expected(first, first, precision=self._device.precision), second, "output").mismatches
        return any(mismatch["error_over_tolerance"] is None or mismatch["error_over_tolerance"] >= _FAR for mismatch in mismatches)

    def is_noise(self, inputs: list[Any], results: list[Any]) -> bool:
        """Whether results are far from what it gives for inputs that differ in their last digits, or it gives nothing for those."""
        try:
            return self.are_far(results, self._runs.results(transform(inputs, "nudged", self._device.torch)[0]))
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return True

    def wavers(self, inputs: list[Any]) -> bool:
        """Whether more than a few integers of the outputs are others for inputs that differ in their last digits: ties decide them."""
        own, moved = (tensors_of(self._runs.results(made)[0]) for made in (inputs, transform(inputs, "nudged", self._device.torch)[0]))
        pairs = [(one, other) for one, other in zip(own, moved) if not (one.is_floating_point() or one.is_complex())]
        return any(one.shape != other.shape or int((one != other).sum()) > few_of(one.numel()) for one, other in pairs)

    def is_as_sensitive(self, inputs: list[Any], baseline: Any, results: Any, *, saturates: bool = False) -> bool:
        """Whether results are no further from the reference's than its own for inputs that differ in their last digits: where a softmax of large values
        saturates, say, rounding decides, and every order of adding up has its own. Where the largest are chosen, of which several have then become zero, or
        one, no further than where those differ. Of gradients where an exponential `saturates` one change of last digits is no measure: it moves those near a tie,
        of which others move with the next."""
        results = map_tensors(results, lambda tensor: tensor.to(self._device.torch))
        # Distances are those of what is finite; a NaN is no infinity, and infinities have signs.
        if not all(torch.equal(_not_finite(a), _not_finite(b)) for a, b in zip(leaves(baseline), leaves(results))):
            return False
        apart = distances(baseline, results)

        def is_within(moved: list[Any], times: float = 1.0) -> bool:
            least = distances(baseline, moved)
            return len(apart) == len(least) > 0 and all(a.typical <= times * b.typical and a.worst <= times * b.worst for a, b in zip(apart, least))

        try:
            nudged = (self._runs.results(transform(inputs, "nudged", self._device.torch, seed)[0]) for seed in range(_CHOICES if saturates else 1))
            if any(is_within(moved, _OTHER_CHOICE if saturates else 1.0) for moved in nudged):
                return True
            return self._orders and any(is_within(moved, _OTHER_CHOICE) for moved in islice(self.rounded(inputs, saturated=True), _CHOICES))
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return False

    def is_free_there(self, inputs: list[Any], baseline: Any, results: Any) -> bool:
        """Whether results differ from the reference's only where its own are others once last digits are changed or zeros moved apart, where it decomposes
        matrices: a matrix of zeros has any rotation for its own, and one of which rows depend on each other has many."""
        if not self._decomposes:
            return False
        own, given = (list(leaves(value)) for value in (baseline, map_tensors(results, lambda tensor: tensor.to(self._device.torch))))
        try:
            others = [changed for seed in (0, 1) for changed in (_without_zeros(inputs, seed), transform(inputs, "nudged", self._device.torch, seed)[0])]
            runs = [list(leaves(self._runs.results(changed))) for changed in others]
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return False
        is_any = False
        for tensor, *others in zip(own, given, *runs, strict=False):
            if any(other.shape != tensor.shape or other.dtype != tensor.dtype for other in others):
                return False
            wrong, *moved = (_apart(tensor, other) for other in others)
            if bool((wrong & ~torch.stack(moved).any(0)).any()):
                return False
            is_any |= bool(wrong.any())
        return is_any and len(given) == len(own)

    def wavers_there(self, inputs: list[Any], baseline: Any, results: Any) -> bool:
        """Whether results have other integers than the reference's only where its own are others with other last digits, of the inputs or of what operators
        give: of several that are tied or nearly so, each order of adding up may choose another. What else is off may follow from those, as a mean over what was
        chosen does, by no more than some times what it moves in such runs."""
        own, given = (list(leaves(value)) for value in (baseline, map_tensors(results, lambda tensor: tensor.to(self._device.torch))))
        if len(own) != len(given) or any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(own, given)):
            return False
        left = _Unexcused(own, given, self._agree)
        first = left.integers()
        # Of what has vanished, or come to one, several are tied exactly.
        runs = chain(self.rounded(inputs, saturated=self._orders), self.nearby(inputs))
        for run, moved in enumerate(runs if first else (), 1):
            left.look_at(list(leaves(moved)))
            if left.is_nothing():
                return True
            # Ties show in most runs: a mistake does not have to wait for all of them.
            if run == _FIRST_RUNS and 2 * left.integers() > first:
                return False
        return False

    def _agree(self, first: Tensor, second: Tensor) -> bool:
        expected = Expected(first, first, extent=Extent.FIRST_MISMATCH, precision=self._device.precision)
        return not compare(expected, second, "output").mismatches

    def nearby(self, *calls: list[Any]) -> Iterator[Any]:
        """Results for inputs whose last digits differ, each time others."""
        for seed in range(_NUDGES):
            changed, reasons = zip(*(transform(inputs, "nudged", self._device.torch, seed) for inputs in calls))
            if reasons[-1] is not None:
                return
            yield self._runs.results(*changed)

    def rounded(self, *calls: list[Any], saturated: bool = False) -> Iterator[Any]:
        """Results with other last digits of all that is made of the inputs: as many as time and memory allow, and none where the reference does not take that."""
        began = perf_counter()
        for seed in range(_ROUNDINGS):
            if perf_counter() - began > _ROUNDING_SECONDS:
                return
            try:
                with Rounding(seed, saturated=saturated):
                    results = self._runs.results(*calls)
            except torch.OutOfMemoryError:
                return
            except WorkerError as error:
                if lost_the_device(error):
                    raise
                return
            yield results


class _Unexcused:
    """What is wrong with results and no other run of the reference excuses: integers that are the same in all of them, and numbers that are further off than
    these move."""

    def __init__(self, own: list[Tensor], given: list[Tensor], agree: Callable[[Tensor, Tensor], bool]) -> None:
        self._own = own
        pairs = {number: (a, b) for number, (a, b) in enumerate(zip(own, given))}
        exact = {number for number, (a, _b) in pairs.items() if not (a.is_floating_point() or a.is_complex())}
        self._wrong = {number: pairs[number][0] != pairs[number][1] for number in exact}
        floating = {number: pair for number, pair in pairs.items() if number not in exact and not agree(*pair)}
        self._off = {number: _distance(*pair) for number, pair in floating.items()}
        self._reach = dict.fromkeys(floating, (0.0, 0.0))
        self._has_others = any(not torch.equal(_not_finite(a), _not_finite(b)) for a, b in floating.values())

    def integers(self) -> int:
        """How many integers are left."""
        return sum(int(wrong.sum()) for wrong in self._wrong.values())

    def look_at(self, others: list[Tensor]) -> None:
        """Takes another run into account; one of another form says nothing."""
        if [other.shape for other in others] != [tensor.shape for tensor in self._own]:
            return
        for number, wrong in self._wrong.items():
            wrong &= others[number] == self._own[number]
        for number, (typical, worst) in self._reach.items():
            moved = _distance(self._own[number], others[number])
            self._reach[number] = max(typical, moved.typical), max(worst, moved.worst)

    def is_nothing(self) -> bool:
        """Whether all is excused."""
        if self._has_others or self.integers():
            return False
        reached = ((self._off[number], typical, worst) for number, (typical, worst) in self._reach.items())
        return all(off.typical <= _OTHER_CHOICE * typical and off.worst <= _OTHER_CHOICE * worst for off, typical, worst in reached)


def _distance(first: Tensor, second: Tensor) -> Distance:
    return Distance.between(real_parts(first), real_parts(second))


def _without_zeros(inputs: list[Any], seed: int) -> list[Any]:
    """The inputs with small random numbers in the place of zeros, in each tensor others."""
    generator = torch.Generator().manual_seed(seed)

    def moved(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point() or not tensor.numel():
            return tensor
        noise = torch.randn(tensor.shape, generator=generator).to(tensor.device, tensor.dtype)
        return torch.where(tensor == 0, noise * (_NEXT_TO_NOTHING * tensor.abs().max()), tensor)

    return map_tensors(inputs, moved)


def _apart(baseline: Tensor, given: Tensor) -> Tensor:
    """Which numbers differ by more than rounding does."""
    b, g = real_parts(baseline), real_parts(given)
    if not b.is_floating_point():
        return b != g
    least = _APART_DOUBLE if b.dtype == torch.float64 else _APART
    finite = b[torch.isfinite(b)].abs().to(torch.float64)
    size = float(finite.mean()) if finite.numel() else 0.0
    return ~((b == g) | ((b - g).abs() <= least * (size + b.abs())) | (torch.isnan(b) & torch.isnan(g)))


def _not_finite(tensor: Tensor) -> Tensor:
    """Of each number whether it is NaN, an infinity of which sign, or neither."""
    parts = real_parts(tensor)
    return torch.where(torch.isnan(parts), 3, torch.where(torch.isfinite(parts), 0, 1 + (parts > 0).to(torch.int8)))
