"""What candidates gave, against what the reference gives. Outputs arrive as bytes, which are checked before they are read."""

from __future__ import annotations

from typing import Any

import torch

from . import steps
from .answers import floating, has_integers, may_be_noise, same_value
from .arena import Arena
from .channel import WorkerError
from .compare import CHOSEN, compare
from .comparison import Comparison
from .device import Device
from .expected import Expected, NanRule
from .failures import lost_the_device
from .outputs import agree
from .paths import GRADIENTS, member, named_tensors
from .reference import Expectation, Reference
from .tolerance import Precision, Scale
from .trees import decode, plain, tensors_of
from .trials import Trials

#: The path of an input that was written into, while it is compared.
_WRITTEN = "input"
#: What is said where outputs do not follow integers that come in another order.
_IN_ORDER = "; these are its outputs for integers that count from place to place, which came in another order, or as other borders"
_OTHER_ORDER = "its outputs follow the order of integers that count from place to place, in a way of their own"
#: What is said where outputs are those of another mode.
_IN_TRAINING = "; these are its outputs in training mode, and modules are judged in eval mode, where batch norm takes its running statistics"

#: What calls leave in a module may be off by so many times as much as outputs.
_OF_STATE = 10.0


class Judge:
    """Compares outputs, and inputs after the call."""

    def __init__(self, trials: Trials, reference: Reference, device: Device) -> None:
        self._trials = trials
        self._reference = reference
        self._device = device

    def compare(self, body: dict[str, Any], arena: Arena) -> dict[str, Any]:
        """What a candidate gave for an entry."""
        entry = body["entry"]
        expectation = self._trials.expected(entry)
        if expectation is None:
            raise WorkerError("internal", "compare", f"nothing is expected of entry {entry!r}")
        outputs = decode(body["outputs"], arena.tensors(body["tensors"]))
        result = compare(expectation.outputs, outputs, "output")
        if result.mismatches and self._reference.in_training_gives(self._trials.base(entry), outputs):
            result.mismatches[0]["detail"] += _IN_TRAINING
        after = self._after(body, arena, self._trials.base(entry))
        self._compare_after(self._trials.base(entry), expectation, after, result)
        if self._trials.kind(entry) == "problem" and not result.mismatches:
            self._compare_steps(self._trials.base(entry), expectation, outputs, after, result)
        if expectation.outputs.is_replaceable and (reason := _why_it_says_nothing(expectation, result)):
            return {**Comparison().to_json(), "undecided": reason}
        if self._trials.kind(entry) == "permuted" and result.mismatches:
            # Offsets and borders have to be in order. Whoever does not look at them gives what they are as always.
            usual, given = self._trials.expected(0), [outputs, self._reference.of_written(after or self._trials.base(entry))]
            if usual is None or not agree(usual.results(), given):
                return {**Comparison().to_json(), "undecided": _OTHER_ORDER}
            result.mismatches[0]["detail"] += _IN_ORDER
        # Noise that makes no difference on the problem's own inputs may do so on others: that is nobody's fault.
        if self._trials.kind(entry) != "problem" and result.mismatches:
            results = [outputs, self._reference.of_written(after or self._trials.base(entry))]
            undecided = self._undecided(self._trials.base(entry), expectation, results, result)
            if undecided is not None:
                return {**Comparison().to_json(), "undecided": undecided}
        return result.to_json()

    def excuse(self, entry: int) -> str | None:
        """Why it says nothing against a candidate that a matrix could not be factorised on an entry, if so."""
        expectation = self._trials.expected(entry)
        if expectation is None or self._trials.kind(entry) == "problem":
            return None
        results = expectation.results()
        if not all(bool(torch.isfinite(tensor).all()) for tensor in floating(results)):
            return "a matrix cannot be factorised, and what the reference gives is not finite everywhere, either"
        if self._reference.sensitivity.is_noise(self._trials.base(entry), results):
            return "a matrix cannot be factorised, where rounding decides what the reference gives"
        return None

    def verify(self, calls: list[dict[str, Any]], arena: Arena) -> list[dict[str, Any] | None]:
        """One comparison for each timed call; None where the reference has no answer for its inputs."""
        # Several calls may have had equal inputs.
        expected: dict[str, _Answer] = {}
        comparisons = []
        for call in calls:
            key = repr((call["base"], call.get("recipe")))
            if key not in expected:
                expected[key] = _Answer(self._reference, self._trials.made(call), self._trials.nan_rule(self._trials.kind(call["base"])))
            comparisons.append(self._verify(call, arena, expected[key]))
        return comparisons

    def _undecided(self, inputs: list[Any], expectation: Expectation, results: Any, found: Comparison) -> str | None:
        """Why results that are not what is expected say nothing against a candidate, if so."""
        baseline = expectation.results()
        if not may_be_noise(found):
            wavers = has_integers(found) and self._reference.sensitivity.wavers_there(inputs, baseline, results)
            return "rounding decides its integer outputs" if wavers else None
        if not self._reference.sensitivity.repeats(inputs, baseline):
            return "the reference gives other outputs for it each time"
        if self._reference.sensitivity.is_free_there(inputs, baseline, results):
            return "a matrix is decomposed that has many rotations of its own, of which any is right"
        if self._reference.sensitivity.is_as_sensitive(inputs, baseline, results, saturates=expectation.outputs.saturates):
            return "rounding decides: the reference gives outputs as far apart for inputs that differ in their last digits"
        return None

    def _says_nothing(self, call: dict[str, Any], answer: _Answer, expectation: Expectation, results: Any, found: Comparison) -> bool:
        """Whether results of a timed call that are not what is expected say nothing against a candidate. Other draws than the problem's own are judged as
        their trials are."""
        if self._trials.kind(call["base"]) == "problem":
            return may_be_noise(found) and not self._reference.sensitivity.repeats(answer.inputs, expectation.results())
        return expectation.integers_differ or self._undecided(answer.inputs, expectation, results, found) is not None

    def compare_state(self, body: dict[str, Any], arena: Arena) -> dict[str, Any]:
        """What a candidate's first call has left in buffers of the problem's names, as far as it has such."""
        state = decode(body["outputs"], arena.tensors(body["tensors"]))
        left = self._reference.state_after(self._trials.base(0), [name for name in state if name in self._reference.moving])
        expected = Expected(left, left, precision=self._device.precision)
        for name, tensor in left.items():
            # Means of many elements cancel.
            expected.scales[member("state", name)] = Scale.of(tensor, tensor, self._device.precision, noisy=False).widened(_OF_STATE)
        return compare(expected, {name: state[name] for name in left}, "state").to_json()

    def _after(self, body: dict[str, Any], arena: Arena, before: list[Any]) -> list[Any]:
        """The inputs after the call; none where they are not told."""
        if body.get("after") is None:
            return []
        after = decode(body["after"], arena.tensors(body["after_tensors"]))
        if not isinstance(after, (list, tuple)) or len(after) != len(before):
            raise WorkerError("internal", "compare", "`after` has not as many inputs as the entry")
        return list(after)

    def _compare_after(self, before: list[Any], expectation: Expectation, after: list[Any], result: Comparison) -> None:
        was = plain(before)
        wanted = was if expectation.after is None else plain(expectation.after)
        for i, (expected, got) in enumerate(zip(wanted, after)):
            untouched = expectation.after is None or (i not in expectation.written and same_value(was[i], expected, self._device.torch))
            if untouched and same_value(expected, got, self._device.torch):
                continue
            path = f"input[{i}] after the call"
            # What is written into an input is an output.
            rules = None if untouched else expectation.written.get(i)
            found = compare(rules or Expected(expected, expected, precision=expectation.outputs.precision), got, _WRITTEN)
            if not untouched:
                result.worst = max(result.worst, found.worst)
            result.says_nothing, result.mistakes_nan = result.says_nothing or found.says_nothing, result.mistakes_nan or found.mistakes_nan
            if untouched and not found.mismatches:
                found.add(_WRITTEN, "within tolerance of what it was, but not the same")
            for mismatch in found.mismatches:
                if untouched:
                    mismatch["detail"] = f"changed, which the reference does not do: {mismatch['detail']}"
                    mismatch["error_over_tolerance"] = None
                result.mismatches.append({**mismatch, "output": path + mismatch["output"].removeprefix(_WRITTEN)})

    def _compare_steps(self, before: list[Any], expectation: Expectation, outputs: Any, after: list[Any], result: Comparison) -> None:
        """Compares the steps to outputs that are inputs, or parts of the state, moved by a little."""
        if self._device.precision is not Precision.FULL:
            return
        origins = [*named_tensors(before, "input"), *((member("state", name), tensor) for name, tensor in self._reference.initial_state().items())]
        given = {"output": outputs, **{f"input[{i}] after the call": after[i] for i in expectation.written}}
        expected = {"output": expectation.outputs, **{f"input[{i}] after the call": written for i, written in expectation.written.items()}}
        for root, wanted in expected.items():
            baselines, precise, actual = (dict(named_tensors(tree, root)) for tree in (wanted.baseline, wanted.precise, given[root]))
            for path in baselines.keys() & actual.keys():
                found = steps.explain(baselines[path], precise[path], actual[path].to(baselines[path].device), origins)
                if found is not None:
                    result.add(path, *found)

    def _verify(self, call: dict[str, Any], arena: Arena, answer: _Answer) -> dict[str, Any] | None:
        """Compares what a timed call gave; None where the reference has no answer for its inputs.

        Most are as near to the reference at declared precision as they must be to the exact values: only others cost a float64 run.
        """
        actual = decode(call["outputs"], arena.tensors(call["tensors"]))
        after = self._after(call, arena, answer.inputs)
        try:
            expectation = answer.at_declared_precision()
            result = self._judged(answer, expectation, actual, after)
            if result.mismatches:
                expectation = answer.exact()
                result = self._judged(answer, expectation, actual, after)
            if result.mismatches and self._says_nothing(call, answer, expectation, [actual, self._reference.of_written(after or answer.inputs)], result):
                return None
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return None
        return result.to_json()

    def _judged(self, answer: _Answer, expectation: Expectation, actual: Any, after: list[Any]) -> Comparison:
        result = compare(expectation.outputs, actual, "output")
        self._compare_after(answer.inputs, expectation, after, result)
        return result


def _why_it_says_nothing(expectation: Expectation, result: Comparison) -> str | None:
    """Why results of a draw with a NaN that are not what is expected say nothing against a candidate, if so. Where integers are among them, or elements are
    chosen, which ones is as much a matter of what a NaN is taken for."""
    if not result.mismatches:
        return result.says_nothing
    # A backward pass selects by what the forward pass gave, which a NaN is not equal to, above or below: of gradients it says no more where one is lost.
    if all(item["output"].startswith(GRADIENTS) for item in result.mismatches):
        return "a NaN of the inputs decides what a comparison lets through, and what is left of gradients"
    if result.mistakes_nan:
        return None
    chooses = expectation.outputs.chooses or any(not (tensor.is_floating_point() or tensor.is_complex()) for tensor in tensors_of(expectation.results()))
    return CHOSEN if chooses else None


class _Answer:
    """What the reference gives for some inputs, computed when it is asked for."""

    def __init__(self, reference: Reference, inputs: list[Any], nan: NanRule) -> None:
        self.inputs = inputs
        self._reference, self._nan = reference, nan
        self._declared: Expectation | None = None
        self._exact: Expectation | None = None

    def at_declared_precision(self) -> Expectation:
        if self._declared is None:
            self._declared = self._reference.expect(self.inputs, self._nan, double=False)
        return self._declared

    def exact(self) -> Expectation:
        if self._exact is None:
            self._exact = self._reference.expect(self.inputs, self._nan)
        return self._exact
