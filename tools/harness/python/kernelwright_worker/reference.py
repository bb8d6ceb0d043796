"""What the reference gives: at declared precision and, where it can be computed, in float64."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor, nn

from . import another_state
from .channel import WorkerError
from .compare import compare
from .containers import Containers
from .device import Device
from .double import DoubleRuns, Gap, NoDouble
from .draws import transform
from .expected import Expected, Extent, NanRule
from .failures import lost_the_device
from .layout import admit_plain, fresh_copy
from .outputs import agree, are_same, distances, leaves
from .problem import Problem
from .sensitivity import Sensitivity
from .snapshot import Snapshot
from .tolerance import Distance
from .trees import Untransportable, decode, encode, leaf_tensors, map_tensors, plain, tensors_of

#: A first run longer than this is not repeated to find out whether the reference is deterministic.
SLOW_FIRST_RUN_NS = 2_000_000_000

#: What takes the place of a NaN, in turns: what is chosen beside one of them may by chance be what is chosen beside a NaN. Far larger ones would saturate.
_FINITE = (0.0, 8.0)
#: So many values of an output tell whether all of them are those of inputs.
_LOOKS = 16


@dataclass
class Expectation:
    """What one call should give and what it does to its inputs."""

    outputs: Expected
    #: The inputs after the call; None where the call leaves them alone.
    after: list[Any] | None
    #: What is expected of those inputs that the problem writes into, by number: results like the outputs.
    written: dict[int, Expected]
    #: Whether the expected values are float64.
    double: bool
    #: Whether it gives other integers in float64, more than a few: ties that are none there.
    integers_differ: bool = False
    #: Whether float64 comes to something that is further away than a few roundings are.
    in_doubt: bool = False

    def results(self) -> list[Any]:
        """The outputs, and what is written into inputs, at declared precision."""
        return [self.outputs.baseline, [expected.baseline for expected in self.written.values()]]


class Reference:
    """The problem's module with its initial state, and runs of it that do not disturb each other."""

    def __init__(self, problem: Problem, init: list[Any], seed: int, device: Device) -> None:
        self._problem = problem
        self._device = device
        self._init, self._seed = init, seed
        self.module = problem.build(init, seed, device)
        self._initial = self._state()
        #: What a module with state of its own is put back to before every run; of others nothing, since weights take memory.
        self._snapshot = Snapshot()
        #: The module's own values of what holds others for the time being.
        self._replaced: dict[str, Tensor] = {}
        #: Which tensors of a few elements only look as if they were set by hand; None until somebody asks.
        self._drawn: set[str] | None = None
        #: Whether calls change the module.
        self.is_stateful = False
        #: Whether a call's outputs depend on the calls before it: every call that is compared begins with the initial state.
        self.carries_state = False
        #: Floating buffers that every call moves although no output shows it.
        self.moving: list[str] = []
        #: Which outputs lie in the memory of inputs, in the order of `leaf_tensors`; None where any may: a backward pass hands on what it was given.
        self.in_inputs: list[bool] | None = None
        #: Which inputs calls write into: results like the outputs.
        self.written: list[int] = []
        #: Whether calls put other tensors into lists and dicts among their inputs.
        self.rebinds = False
        self._double = DoubleRuns(self, device)
        self.sensitivity = Sensitivity(self, device, orders=problem.orders, decomposes=problem.decomposes)

    def _state(self) -> dict[str, Tensor]:
        uninitialised = nn.parameter.UninitializedTensorMixin
        tensors = {name: t for name, t in self.module.state_dict().items() if isinstance(t, Tensor) and not isinstance(t, uninitialised)}
        try:
            return {name: fresh_copy(admit_plain(tensor), self._device.torch) for name, tensor in tensors.items()}
        except Untransportable as error:
            raise WorkerError("unsupported", "state", f"the module's state holds {error}") from error

    def first_run(self, inputs: list[Any], others: Callable[[], list[list[Any]]] = list) -> tuple[Any, int]:
        """Runs the module once, with what only a first run shows: lazy parameters, whether calls change the module's own state, and whether that shows
        in the outputs of later calls, which may have the `others` for inputs."""
        is_lazy = any(isinstance(tensor, nn.parameter.UninitializedTensorMixin) for tensor in [*self.module.parameters(), *self.module.buffers()])
        if not self.is_stateful:
            self._snapshot = Snapshot.of(self.module)
        own = self.copies(inputs)
        containers = Containers(own)
        outputs, after, nanoseconds = self._run_on(own)
        if not containers.hold_as_much():
            message = "forward lets a list or dict among its inputs grow, or changes what is no tensor in it, where nobody could compare it: return what is new"
            raise WorkerError("unsupported", "run", message)
        self.rebinds = containers.are_rebound()
        self.written = [i for i, (was, now) in enumerate(zip(inputs, after)) if not are_same(was, now)]
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_of(after)}
        returned = [bool(tensor.numel()) and tensor.untyped_storage().data_ptr() in given for tensor in leaf_tensors(outputs)]
        self.in_inputs = None if self._problem.trains else returned
        if is_lazy:
            self._initial, self._snapshot = self._state(), Snapshot.of(self.module)
        registered = self._snapshot.of_registered()
        self.is_stateful = registered.is_changed()
        self.carries_state = self._snapshot.is_changed() and any(map(self._goes_on, others()))
        if not self.carries_state:
            # What nobody sees in the outputs, such as a table that it makes in the first call, is left to it.
            self._snapshot = registered if self.is_stateful else Snapshot()
        self.is_stateful = self.is_stateful or self.carries_state
        self.moving = self._moving(inputs) if self.is_stateful and not self.carries_state else []
        return outputs, nanoseconds

    def _moving(self, inputs: list[Any]) -> list[str]:
        """The names of floating buffers in which a call leaves something that nobody sees in outputs: running statistics, what an observer has seen. A table
        that the first call makes is as it was after the second; a count of calls is left to whoever wants to count."""
        found: set[str] = set()
        for last in (inputs, transform(inputs, "scaled", self._device.torch)[0]):
            try:
                before, after = (self._state() for _run in self._in_a_row(inputs, last))
            except WorkerError as error:
                if lost_the_device(error):
                    raise
                continue
            floating = [name for name, tensor in self._initial.items() if tensor.is_floating_point() and name in before and name in after]
            found.update(name for name in floating if not are_same(self._initial[name], before[name]) and not are_same(before[name], after[name]))
        return sorted(found)

    def state_after(self, inputs: list[Any], names: list[str]) -> dict[str, Tensor]:
        """What one call leaves in these."""
        self.run(inputs)
        left = self._state()
        return {name: left[name] for name in names}

    def _goes_on(self, inputs: list[Any]) -> bool:
        """Whether a call gives other outputs, or none, where it finds the state of the one before."""
        smaller = transform(inputs, "small", self._device.torch)[0]
        for last, before in ((inputs, inputs), (inputs, smaller), (smaller, inputs)):
            # What does not run by itself says nothing of state.
            alone, again = self._given(last), self._given(last)
            if alone is None or self._given(before) is None:
                continue
            after = self._given(before, last)
            if after is None or not (are_same(alone, after) if are_same(alone, again) else agree(alone, after)):
                return True
        return False

    def _given(self, *calls: list[Any]) -> list[Any] | None:
        """What the last of several calls gives; None where the reference does not run on them."""
        try:
            return self.results(*calls)
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return None

    def _in_a_row(self, *calls: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
        """The outputs of several calls, of which the first finds the initial state, and the inputs of each after it. Later calls may write them."""
        self._snapshot.restore()
        for inputs in calls:
            own = self.copies(inputs)
            yield self._problem.run(self.module, own), own

    def expect_in_a_row(self, calls: list[list[Any]]) -> list[Expectation]:
        """What each of several calls should give, at declared precision, up to the first one for which that is nothing to go by: it gives something else each
        time, or for inputs that differ in their last digits."""
        expectations = []
        for number, (inputs, (outputs, after)) in enumerate(zip(calls, self._in_a_row(*calls)), 1):
            results = map_tensors(self._results(outputs, after), lambda tensor: fresh_copy(tensor, tensor.device))
            left = None if are_same(inputs, after) else after
            expectations.append(self._expectation(calls[:number], left, results, results))
        nudged = [transform(inputs, "nudged", self._device.torch, seed)[0] for seed, inputs in enumerate(calls)]
        for others in (calls, nudged):
            pairs = zip(expectations, self._in_a_row(*others))
            expectations = [expected for expected, _run in takewhile(lambda pair: agree(pair[0].results(), self._results(*pair[1])), pairs)]
        return expectations

    def _results(self, outputs: Any, after: list[Any]) -> list[Any]:
        return [self._plain(outputs), self.of_written(after)]

    def of_written(self, after: list[Any]) -> list[Any]:
        """Those inputs after a call that calls write into."""
        return plain([after[i] for i in self.written])

    def renew(self) -> None:
        """Forgets what is known of runs: the next inputs may be of other dtypes and sizes."""
        self._double = DoubleRuns(self, self._device)

    def initial_state(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, as they are before the first call."""
        return {**self._initial, **self._replaced}

    def variable_state(self) -> dict[str, Tensor]:
        """What of it is to hold other values in another state."""
        found = another_state.variable(self._problem.inner(self.module), self.initial_state())
        if self._drawn is None:
            self._drawn = self._drawn_at_random({name: tensor for name, tensor in found.items() if another_state.needs_another_draw(tensor)})
        return {name: tensor for name, tensor in found.items() if name not in self._drawn}

    def learnt_state(self, beside: dict[str, Tensor]) -> dict[str, Tensor]:
        """What a step of training changes, of a problem that is trained, beside what has changed already."""
        names = [name for name in self._problem.form.gradients or () if name not in beside]
        return another_state.learnt(self._problem.inner(self.module), self.initial_state(), names)

    def _drawn_at_random(self, state: dict[str, Tensor]) -> set[str]:
        """The names of what holds something else in a module that is built under another seed."""
        try:
            again = self._problem.state_drawn_again(self._init, self._seed + 1) if state else {}
        except WorkerError:
            return set()
        return {name for name, tensor in state.items() if another_state.is_drawn(tensor, again.get(name))}

    def replace_state(self, others: dict[str, Tensor]) -> None:
        """Holds these values in the place of its own, and its own again in the place of those that were replaced before."""
        own = self.initial_state()
        if self.is_stateful:
            self._snapshot.restore()
        self.module.load_state_dict({**self._replaced, **others}, strict=False)
        self._initial = {**own, **others}
        self._replaced = {name: own[name] for name in others}
        if self.is_stateful:
            self._snapshot = Snapshot.of(self.module).of_registered()
        self._double.renew_module()

    def run(self, inputs: list[Any]) -> tuple[Any, list[Any], int]:
        """Outputs, the inputs after the call, and its time. The inputs given are left alone."""
        return self._run_on(self.copies(inputs))

    def _run_on(self, own: list[Any]) -> tuple[Any, list[Any], int]:
        if self.is_stateful:
            self._snapshot.restore()
        self._device.synchronize()
        start = perf_counter_ns()
        outputs = self._problem.run(self.module, own)
        self._device.synchronize()
        nanoseconds = perf_counter_ns() - start
        return self._plain(outputs), own, nanoseconds

    def outputs(self, inputs: list[Any]) -> Any:
        """What a call gives."""
        return self.run(inputs)[0]

    def results(self, *calls: list[Any]) -> list[Any]:
        """What a call gives, and what it writes into its inputs; of several in a row, the last one."""
        for run in self._in_a_row(*calls):
            last = run
        self._device.synchronize()
        return self._results(*last)

    def _plain(self, outputs: Any) -> Any:
        """Outputs as plain tensors, in memory that later calls do not write: a module may return its own buffers."""
        tensors: list[Tensor] = []
        try:
            tree = encode(outputs, tensors, admit_plain)
        except Untransportable as error:
            raise WorkerError("unsupported", "run", f"the reference returns {error}") from error
        own = {tensor.untyped_storage().data_ptr() for tensor in [*self.module.parameters(), *self.module.buffers()] if tensor.layout is torch.strided}
        kept = [fresh_copy(new, new.device) if new.untyped_storage().data_ptr() in own else new for new in tensors]
        return decode(tree, kept)

    def in_training_gives(self, inputs: list[Any], outputs: Any) -> bool:
        """Whether the module gives these outputs in training mode, where that shows: norms take the batch's own statistics."""
        if not another_state.has_statistics(self._problem.inner(self.module)):
            return False
        try:
            with torch.random.fork_rng(devices=[self._device.torch] if self._device.is_cuda else []):
                trained = self._plain(self._problem.run(self.copied().train(), self.copies(inputs)))
        except (WorkerError, torch.OutOfMemoryError):
            return False
        expected = Expected(trained, trained, extent=Extent.FIRST_MISMATCH, precision=self._device.precision)
        return not compare(expected, outputs, "output").mismatches

    def copies(self, inputs: list[Any]) -> list[Any]:
        """The inputs in memory of their own."""
        return map_tensors(inputs, lambda tensor: fresh_copy(tensor, self._device.torch))

    def expect(self, inputs: list[Any], nan: NanRule, double: bool = True) -> Expectation:
        """What a call with these inputs should give; without `double` only at declared precision."""
        outputs, after, _nanoseconds = self.run(inputs)
        left = None if are_same(inputs, after) else after
        baseline = [outputs, self.of_written(after)]

        def found(precise: Any, **known: Any) -> Expectation:
            return self._expectation([inputs], left, baseline, precise, nan=nan, **known)

        if not double:
            return found(baseline)
        # An output may be a view of an input that later work reuses; nothing else holds these copies, so no further copy is needed.
        try:
            precise = self._double.aligned(baseline, inputs)
        except NoDouble:
            return found(baseline)
        apart = distances(precise, baseline)
        gap = self._double.gap(inputs, baseline, precise, apart)
        if gap is Gap.ANOTHER:
            # On other inputs it may be the same one.
            differ = any(one.typical > 0 for one, leaf in zip(apart, leaves(baseline)) if not (leaf.is_floating_point() or leaf.is_complex()))
            return found(baseline, integers_differ=differ, in_doubt=True, without_overflow=precise if _overflows(baseline, precise) else None)
        # Numbers become tensors for a moment only, whose identities others may have later.
        lasting = {id(tensor) for tensor in tensors_of(precise)}
        known = [replace(one, copied=self._is_copied(one, leaf, inputs)) for one, leaf in zip(apart, leaves(baseline))]
        measured = {id(leaf): distance for leaf, distance in zip(leaves(precise), known) if id(leaf) in lasting}
        return found(precise, double=True, in_doubt=gap is Gap.NOISE, noisy=gap is Gap.NOISE, distances=measured)

    def _expectation(
        self,
        calls: list[list[Any]],
        left: list[Any] | None,
        baseline: list[Any],
        precise: list[Any],
        *,
        double: bool = False,
        integers_differ: bool = False,
        in_doubt: bool = False,
        without_overflow: list[Any] | None = None,
        **known: Any,
    ) -> Expectation:
        """Of the last of several calls in a row, with what it has `left` of its inputs."""

        def part(*path: int) -> Expected:
            return Expected(
                _at(baseline, path),
                _at(precise, path),
                precision=self._device.precision,
                admits_numbers=self._problem.form.numpy,
                without_overflow=None if without_overflow is None else _at(without_overflow, path),
                nearby=lambda: (_at(results, path) for results in self.sensitivity.nearby(*calls)),
                rounded=lambda: (_at(results, path) for results in self.sensitivity.rounded(*calls)),
                enlarged=lambda: ((_at(single, path), _at(wide, path)) for single, wide in self._enlarged(*calls)),
                without_nan=lambda infinite: (_at(results, path) for results in self._without_nan(infinite, *calls)),
                **known,
            )

        return Expectation(part(0), left, {i: part(1, at) for at, i in enumerate(self.written)}, double, integers_differ, in_doubt)

    def _is_copied(self, distance: Distance, output: Tensor, inputs: list[Any]) -> bool:
        """Whether values of an output are those of inputs or parameters, by a look at some of them: sorting, gathering and padding round nothing. Zeros say
        nothing: they may be what is left of differences."""
        if distance.worst > 0 or output.dtype != torch.float32 or output.numel() < _LOOKS:
            return False
        chosen = random.Random(0).sample(range(output.numel()), _LOOKS)
        values = [value for value in output.reshape(-1)[torch.tensor(chosen, device=output.device)] if value]
        sources = [tensor for tensor in [*tensors_of(inputs), *self.module.parameters()] if tensor.dtype == torch.float32]
        return bool(values) and all(any(bool((source.detach() == value).any()) for source in sources) for value in values)

    def _enlarged(self, *calls: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Results for inputs that are a quarter larger, and the same in float64."""
        larger = [transform(inputs, "enlarged", self._device.torch)[0] for inputs in calls]
        try:
            single = self.results(*larger)
            pair = single, self._double.aligned(single, larger[-1])
        except (NoDouble, torch.OutOfMemoryError):
            return
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return
        yield pair

    def _without_nan(self, infinite: bool, *calls: list[Any]) -> Iterator[Any]:
        """Results for inputs with finite values in the place of NaN; of `infinite` ones as well, of which differences and quotients are NaN."""
        for finite in _FINITE:

            def replaced(tensor: Tensor) -> Tensor:
                if not tensor.is_floating_point():
                    return tensor
                tensor.detach().masked_fill_(~torch.isfinite(tensor) if infinite else torch.isnan(tensor), finite)
                return tensor

            yield self.results(*(map_tensors(self.copies(inputs), replaced) for inputs in calls))

    def copied(self) -> nn.Module:
        """The module once more, as it is before a call."""
        if self.is_stateful:
            self._snapshot.restore()
        return copy.deepcopy(self.module)


def _overflows(baseline: Any, precise: Any) -> bool:
    """Whether something is not finite at declared precision that is so in float64."""
    pairs = [(one, other) for one, other in zip(leaves(baseline), leaves(precise)) if one.is_floating_point() and one.shape == other.shape]
    return any(bool((torch.isfinite(other) & ~torch.isfinite(one)).any()) for one, other in pairs)


def _at(results: Any, path: tuple[int, ...]) -> Any:
    for index in path:
        results = results[index]
    return results
