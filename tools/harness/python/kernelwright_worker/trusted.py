"""The trusted role: holds the problem, its reference and what is expected, and decides nothing about time.

Seeds of draws and expected outputs never leave this process; what comes from a candidate is bytes, checked before they are read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor

from . import another_state, ceilings, cuda_ipc, degenerate, failures, recipes, structure
from .answers import floating, gradients_vanish, may_be_noise, nans, no_answer, reduces, same_value
from .arena import Arena, write_arena
from .baselines import Baselines
from .channel import Channel, Reply, WorkerError, serve
from .compare import Comparison, Expected, NanRule, compare, is_rounding_alone, sizes_of_few
from .delivery import deliver
from .device import Device, keep_freed_memory
from .draws import LABELS, SPIKES, Constants, transform
from .problem import Problem
from .layout import same_bits
from .locations import Locations
from .reference import Expectation, Reference, agree
from .recipes import Recipe
from .structure import Structure
from .timing import Batch
from .trees import Untransportable, decode, describe, describe_value, encode, tensors_of


#: Operations that compute much which is not kept, and how little of a GPU's memory has to be left for that to be given back: one part in so many.
#: Between timed batches both sides hold what they need, and a GPU is slower for longer than a batch takes after much was freed.
_HALF = 2
#: What an output that cancels counts as at least, as a part of what it is on the problem's own draw.
_FLOOR = 0.01
#: What is said where outputs are those of another mode.
_IN_TRAINING = "; these are its outputs in training mode, and modules are judged in eval mode, where batch norm takes its running statistics"
_LARGE = {"expect": _HALF, "compare": _HALF, "baseline": _HALF, "verify": 8}


class Trusted:
    """The state of one loaded problem."""

    def __init__(self) -> None:
        self._loaded: _Loaded | None = None

    def load(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        """Imports the problem, builds the module and runs it."""
        self._loaded = None
        device = Device(body["device"])
        device.configure(body.get("threads"), body.get("policy"))
        seed = int(body["seed"])
        problem = Problem(body["source"], body["name"])
        init = problem.init_inputs(seed)
        reference = Reference(problem, init, seed, device)
        loaded = _Loaded(problem, reference, seed, device)
        facts = loaded.facts()
        self._loaded = loaded
        tensors: list[Tensor] = []
        tree = encode(init, tensors, lambda tensor: tensor)
        state = []
        for name, tensor in reference.initial_state().items():
            state.append([name, {"tensor": len(tensors)}])
            tensors.append(tensor)
        fd, entries = write_arena(tensors)
        return Reply(
            {
                **facts,
                "init": tree,
                "tensors": entries,
                "state": state,
                "has_state": bool(state),
                "sets": problem.sets(),
                "form": problem.form.to_json(),
                "constants": encode(problem.constants(), [], lambda tensor: tensor),
            },
            [fd],
        )

    def handlers(self) -> dict[str, Any]:
        """Every operation by name."""
        names = ("select", "draw", "share", "vary", "expect", "compare", "verify", "forget", "baseline", "place", "refill", "takes", "time", "clear", "fill", "copy_rate", "device_state", "rest", "check_inputs")
        return {"load": self.load, "cuda_arch": _cuda_arch, **{name: self._on_loaded(name) for name in names}}

    def _on_loaded(self, name: str) -> Any:
        def handle(body: dict[str, Any], fds: list[int]) -> Reply | dict[str, Any]:
            if self._loaded is None:
                raise WorkerError("internal", name, "no problem is loaded")
            try:
                reply = getattr(self._loaded, name)(body, fds)
                if name in _LARGE:
                    self._loaded.make_room(_LARGE[name])
                return reply
            except Untransportable as error:
                raise WorkerError("unsupported", name, str(error)) from error

        return handle


class _Loaded:
    """The operations on a loaded problem; each takes a request's body and descriptors."""

    def __init__(self, problem: Problem, reference: Reference, seed: int, device: Device) -> None:
        self._problem = problem
        self._reference = reference
        self._seed = seed
        self._device = device
        self._baselines = Baselines(reference, device)
        self._batch = Batch(device)
        self._batch.settle()
        self._outbox = cuda_ipc.Outbox(device.torch) if device.is_cuda else None
        self._mapped = cuda_ipc.Mapped()
        self._inputs: dict[int, list[Any]] = {}
        self._kinds: dict[int, str] = {}
        self._expected: dict[int, Expectation] = {}
        #: Of outputs with few elements, by path, on the problem's own draw.
        self._sizes: dict[str, float] = {}
        #: By which of the factors spikes have to grow to decide what a reduction comes to, once that is known.
        self._spike: float | None = None
        #: One for each tensor of the selected set of inputs.
        self._structures: list[Structure | None] = []
        self._constants = Constants()

    def facts(self) -> dict[str, Any]:
        """What a first run on the selected set of inputs shows."""
        inputs = self._problem.inputs(self._seed, self._device)
        self._learn_draws(inputs)
        outputs, first_ns = self._reference.first_run(inputs, lambda: [self._problem.inputs(self._seed + offset, self._device) for offset in (1, 2)])
        reason, reference_ns = degenerate.find(self._problem, self._reference, inputs, outputs, first_ns, self._seed, self._device)
        known = list(zip(tensors_of(inputs), self._structures))
        return {
            "inputs": [line for value in inputs for line in describe_value(value)],
            "outputs": describe_value(outputs),
            "degenerate": reason,
            "reference_ns": reference_ns,
            "device_memory": self._device.free_memory(),
            "reduces": reduces(inputs, outputs),
            "has_constants": self._constants.can_change(inputs),
            "carries_state": self._reference.carries_state,
            "returns_inputs": self._reference.returns_inputs,
            "structures": [found and found.to_json() for _tensor, found in known],
            "structure": [
                f"tensor {index + 1} of the inputs, {describe(tensor)}, is {found.told()}" for index, (tensor, found) in enumerate(known) if found and found.told()
            ],
        }

    def _learn_draws(self, inputs: list[Any]) -> None:
        """What inputs are in another draw as well."""
        again = self._problem.inputs(self._seed + 1, self._device)
        self._structures = structure.find(inputs, lambda: again)
        self._constants = Constants.of(inputs, again)

    def make_room(self, little: int) -> None:
        """Leaves the candidate memory that nothing here needs any more, where less than one part in `little` is left."""
        self._device.make_room(little)

    def select(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Goes over to another set of inputs; nothing that was drawn, expected or prepared for the last one stays."""
        self._batch.clear()
        self.forget({"all": True}, [])
        self._problem.select(body["set"])
        self._spike = None
        self._reference.renew()
        self._baselines = Baselines(self._reference, self._device)
        return self.facts()

    def draw(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        entry, kind, base = body["entry"], body["kind"], body.get("base")
        inputs = self._problem.inputs(int(body["seed"]), self._device) if base is None else self._base(base)
        inputs, skipped = self._transformed(inputs, kind, int(body["seed"]))
        self._forget(entry)
        if skipped is not None:
            return Reply({"inputs": None, "tensors": [], "label": LABELS[kind], "skipped": skipped})
        self._inputs[entry], self._kinds[entry] = inputs, kind
        return self.share(body, [])

    def _transformed(self, inputs: list[Any], kind: str, seed: int) -> tuple[list[Any], str | None]:
        known = structure.fitting(self._structures, inputs)

        def changed(spike: float) -> tuple[list[Any], str | None]:
            return transform(inputs, kind, self._device.torch, seed, known, self._constants, spike)

        if kind != "spiked" or self._spike is not None:
            return changed(self._spike or SPIKES[0])
        self._spike = SPIKES[0]
        for spike in SPIKES:
            spiked, skipped = changed(spike)
            if skipped is not None:
                break
            outputs = self._outputs(lambda: spiked)
            if outputs is None or no_answer(outputs, kind) is not None:
                break
            if self._tells_from_base(outputs):
                self._spike = spike
                return spiked, None
        return changed(self._spike)

    def _outputs(self, make: Callable[[], list[Any]]) -> Any:
        """What the reference gives for the inputs that are made; nothing where it does not run on them, or they do not fit beside others."""
        try:
            return self._reference.run(make())[0]
        except torch.OutOfMemoryError:
            return None
        except WorkerError as error:
            if "CUDA error" in error.message:
                raise
            return None

    def _tells_from_base(self, outputs: Any) -> bool:
        """Whether outputs are far from those of the problem's own draw."""
        expected = self._expected.get(0)
        return expected is None or self._reference.are_far(expected.outputs.baseline, outputs)

    def _decides(self, kind: str, entry: int, outputs: Any) -> bool:
        """Whether a few elements of a draw decide what it comes to: of a root, or of what is bounded, they may not."""
        if kind == "spiked":
            return self._tells_from_base(outputs)
        if kind == "uneven":
            seed = self._seed + 1 + entry
            others = self._outputs(lambda: self._transformed(self._problem.inputs(seed, self._device), kind, seed)[0])
            return others is not None and self._reference.are_far(outputs, others)
        return True

    def share(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        entry = body["entry"]
        inputs = self._base(entry)
        tensors: list[Tensor] = []
        tree = encode(inputs, tensors, lambda tensor: tensor)
        answer = {"inputs": tree, "label": LABELS[self._kinds[entry]], "skipped": None}
        if self._outbox is not None:
            try:
                return Reply({**answer, "tensors": self._outbox.put(tensors)})
            except cuda_ipc.DriverError:
                self._outbox = None  # not every system lets processes share device memory; then it goes through the host
        fd, entries = write_arena(tensors)
        return Reply({**answer, "tensors": entries}, [fd])

    def vary(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Goes over to another state of the module; without a seed, back to its own."""
        # What was expected of the base entry was so in the state before.
        self._expected.pop(0, None)
        if body.get("seed") is None:
            self._reference.replace_state({})
            return {"names": []}
        others = another_state.varied(self._reference.trained_state(), int(body["seed"]))
        if not others or self._reference.carries_state:
            return {"names": []}
        inputs = self._base(0)
        before = self._reference.run(inputs)[0]
        try:
            self._reference.replace_state(others)
            after = self._reference.run(inputs)[0]
            shows = not agree(before, after) and all(no_answer(outputs, "problem") is None for outputs in (before, after))
        except WorkerError as error:
            if "CUDA error" in error.message:
                raise
            shows = False
        if not shows:
            self._reference.replace_state({})
        return {"names": list(others) if shows else []}

    def expect(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        entry = body["entry"]
        kind = self._kinds.get(entry, "problem")
        try:
            expectation = self._reference.expect(self._base(entry), NanRule.ANYTHING if kind in ("special", "flipped") else NanRule.MUST_MATCH)
        except WorkerError as error:
            if kind == "problem" or "CUDA error" in error.message:
                raise
            return {"skipped": f"the reference does not run on it: {error.message}", "double": False}
        if kind == "problem":
            self._sizes = sizes_of_few(expectation.outputs.baseline, "output")
            expectation.outputs.looks_at_small = True
        elif kind == "structured":
            # Sums of which half has changed its sign are small differences of large numbers.
            expectation.outputs.floors = {path: _FLOOR * size for path, size in self._sizes.items()}
        reason = None if kind == "problem" else no_answer(expectation.outputs.baseline, kind)
        if reason is None and (
            kind != "problem" and expectation.integers_differ
            or kind == "structured" and self._rounding_decides(self._base(entry), expectation.outputs.baseline)
        ):
            reason = "rounding decides its integer outputs"
        elif reason is None and kind == "scaled" and self._problem.trains and 0 in self._expected:
            before = self._expected[0].outputs.baseline
            reason = "gradients vanish, and rounding decides what is left of them" if gradients_vanish(expectation.outputs.baseline, before) else None
        if reason is None:
            self._expected[entry] = expectation
        worthless = kind == "problem" and is_rounding_alone(expectation.outputs)
        decides = reason is None and self._decides(kind, entry, expectation.outputs.baseline)
        return {"skipped": reason, "double": expectation.double, "rounding_decides": worthless, "decides": decides}

    def _rounding_decides(self, inputs: list[Any], baseline: Any) -> bool:
        """Whether integers or bools of the outputs change with the last digits of the inputs: equal rows and zeros make ties that are nobody's fault."""
        exact = [tensor for tensor in tensors_of(baseline) if not (tensor.is_floating_point() or tensor.is_complex())]
        if not any(tensor.numel() for tensor in exact):
            return False
        nudged = tensors_of(self._reference.run(transform(inputs, "nudged", self._device.torch, 0)[0])[0])
        after = [tensor for tensor in nudged if not (tensor.is_floating_point() or tensor.is_complex())]
        return len(after) != len(exact) or not all(same_bits(a, b) for a, b in zip(exact, after))

    def compare(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        entry = body["entry"]
        expectation = self._expected.get(entry)
        if expectation is None:
            raise WorkerError("internal", "compare", f"nothing is expected of entry {entry!r}")
        arena = Arena.received(fds)
        outputs = decode(body["outputs"], arena.tensors(body["tensors"]))
        result = compare(expectation.outputs, outputs, "output")
        if result.mismatches and self._reference.in_training_gives(self._base(entry), outputs):
            result.mismatches[0]["detail"] += _IN_TRAINING
        if body.get("after") is not None:
            after = decode(body["after"], arena.tensors(body["after_tensors"]))
            self._compare_after(self._base(entry), expectation, after, result)
        # Noise that makes no difference on the problem's own inputs may do so on others: that is nobody's fault.
        if self._kinds.get(entry) != "problem" and may_be_noise(result):
            undecided = self._undecided(self._base(entry), expectation.outputs.baseline, outputs)
            if undecided is not None:
                return {**Comparison().to_json(), "undecided": undecided}
        return result.to_json()

    def _undecided(self, inputs: list[Any], baseline: Any, outputs: Any) -> str | None:
        """Why outputs that are not what is expected say nothing against a candidate, if so."""
        if not self._reference.repeats(inputs, baseline):
            return "the reference gives other outputs for it each time"
        if self._reference.is_as_sensitive(inputs, baseline, outputs):
            return "rounding decides: the reference gives outputs as far apart for inputs that differ in their last digits"
        return None

    def _compare_after(self, before: list[Any], expectation: Expectation, after: Any, result: Comparison) -> None:
        untouched = expectation.after is None
        wanted = before if expectation.after is None else expectation.after
        if not isinstance(after, (list, tuple)) or len(after) != len(wanted):
            raise WorkerError("internal", "compare", "`after` has not as many inputs as the entry")
        for i, (expected, got) in enumerate(zip(wanted, after)):
            if untouched and same_value(expected, got, self._device.torch):
                continue
            path = f"input[{i}] after the call"
            # What is written into an input is an output.
            rules = expectation.outputs
            found = compare(Expected(expected, expected, NanRule.MUST_MATCH if untouched else rules.nan, precision=rules.precision), got, path)
            if untouched and not found.mismatches:
                found.add(path, "within tolerance of what it was, but not the same")
            for mismatch in found.mismatches:
                if untouched:
                    mismatch["detail"] = f"changed, which the reference does not do: {mismatch['detail']}"
                result.mismatches.append(mismatch)

    def verify(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        arena = Arena.received(fds)
        # Several calls may have had equal inputs.
        expected: dict[str, _Answer] = {}
        comparisons = []
        inputs = [self._base(call["base"]) for call in body["calls"]]
        with self._device.alone() if self._batch.is_small(tensors_of(inputs)) else nullcontext():
            for call in body["calls"]:
                key = repr((call["base"], call.get("recipe")))
                if key not in expected:
                    expected[key] = _Answer(self._reference, self._made(call))
                comparisons.append(self._verify(call, arena, expected[key]))
        return {"comparisons": comparisons}

    def _made(self, call: dict[str, Any]) -> list[Any]:
        """The inputs of a timed call, made again."""
        base = self._base(call["base"])
        return recipes.apply(base, Recipe.parse(call.get("recipe")), self._device.torch, structure.fitting(self._structures, base))

    def _verify(self, call: dict[str, Any], arena: Arena, answer: _Answer) -> dict[str, Any] | None:
        """Compares what a timed call gave; None where the reference has no answer for its inputs.

        Most are as near to the reference at declared precision as they must be to the exact values: only others cost a float64 run.
        """
        actual = decode(call["outputs"], arena.tensors(call["tensors"]))
        try:
            expectation = answer.at_declared_precision()
            result = compare(expectation.outputs, actual, "output")
            if result.mismatches:
                expectation = answer.exact()
                result = compare(expectation.outputs, actual, "output")
            if may_be_noise(result) and not self._reference.repeats(answer.inputs, expectation.outputs.baseline):
                return None
        except WorkerError as error:
            if "CUDA error" in error.message:
                raise
            return None
        if call.get("after") is not None:
            self._compare_after(answer.inputs, expectation, decode(call["after"], arena.tensors(call["after_tensors"])), result)
        return result.to_json()

    def forget(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        known = {*self._inputs, *self._expected}
        if body.get("all"):
            self._mapped.clear()
        for entry in known if body.get("all") else body.get("entries", []):
            self._forget(entry)
        return {}

    def baseline(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        known = self._expected.get(0)
        first_call_ns = self._baselines.prepare(body["kind"], self._base(0), known.outputs.baseline if known else None)
        self._batch.settle()
        return {"first_call_ns": first_call_ns}

    def place(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return {"bytes": self._batch.place(body["entries"], self._base)}

    def refill(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Places an entry's inputs, moved about for each call, in memory that earlier batches have used."""
        base = self._base(body["base"])
        self._batch.refill(body["entries"], base, structure.fitting(self._structures, base))
        return {}

    def takes(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Whether the reference runs on an entry's inputs by a recipe, and gives NaN for no more of them than on the entry itself, but for an eighth
        of its outputs: elements in other places may make a few more."""
        entry = body["entry"]
        try:
            outputs = [self._reference.run(inputs)[0] for inputs in (self._made({**body, "base": entry}), self._base(entry))]
        except Exception as error:  # what a reference raises for inputs that it was not written for is its own affair
            if "CUDA error" in str(error):
                raise
            return {"takes": False}
        moved, own = (nans(value) for value in outputs)
        return {"takes": moved <= own + sum(tensor.numel() for tensor in floating(outputs[1])) // 8}

    def time(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        try:
            inner_ns = self._batch.time(self._baselines.callable(body["kind"]), body["calls"])
            return {"inner_ns": inner_ns, "told_ns": self._tell() if body.get("tell") else 0}
        except (WorkerError, torch.OutOfMemoryError):
            raise
        except Exception:
            # The calls of a batch have other inputs than the problem's own.
            with self._problem.reported("problem_run", "time"):
                raise

    def _tell(self) -> int:
        """Says to nobody where the outputs of the batch lie, as the candidate has to say; what that takes, in nanoseconds."""
        start = perf_counter_ns()
        locations = Locations(cuda_ipc.Blocks())
        for value in self._batch.outputs():
            locations.add(value)
        json.dumps(locations.reply())
        return perf_counter_ns() - start

    def fill(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Writes the inputs of an entry, moved about for each call, into device memory of the candidate, while that is stopped."""
        inputs = self._base(body["entry"])
        tensors, structures = tensors_of(inputs), structure.fitting(self._structures, inputs)
        wanted = [Recipe.parse(call["recipe"]) for call in body["calls"]]
        try:
            blocks = self._mapped.open(body["blocks"], self._device.torch)
            for tensor, known, *places in zip(tensors, structures, *(call["places"] for call in body["calls"]), strict=True):
                deliver(tensor, known, wanted, places, blocks)
        except cuda_ipc.DriverError as error:
            raise Untransportable(f"device memory that cannot be written: {error}") from error
        # What was written last would otherwise be found there sooner than what was written first. Returns when all is written.
        self._device.flush_cache()
        return {}

    def rest(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Gives back memory that is only kept for the next evaluation, while another problem is evaluated, where that may need it."""
        self._batch.clear()
        if self._device.is_short(_HALF):
            if self._outbox is not None:
                self._outbox.clear()
            self._device.give_all_back()
        return {}

    def clear(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        self._batch.clear()
        return {}

    def check_inputs(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        """Inputs that the reference takes, in memory of the host: a process under a tool that follows device memory could not be told who has written it."""
        inputs, name = self._problem.check_inputs(int(body["seed"]), self._device)
        self._reference.run(inputs)
        tensors: list[Tensor] = []
        tree = encode(inputs, tensors, lambda tensor: tensor)
        fd, entries = write_arena(tensors)
        label = name or ", ".join(line for value in inputs for line in describe_value(value))
        return Reply({"inputs": tree, "tensors": entries, "label": label, "skipped": None}, [fd])

    def copy_rate(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return {"bytes_per_second": ceilings.copy_rate(self._device)}

    def device_state(self, _body: dict[str, Any], _fds: list[int]) -> Any:
        return ceilings.state(self._device)

    def _base(self, entry: int) -> list[Any]:
        inputs = self._inputs.get(entry)
        if inputs is None:
            raise WorkerError("internal", "entry", f"no inputs were drawn for entry {entry!r}")
        return inputs

    def _forget(self, entry: int) -> None:
        for table in (self._inputs, self._kinds, self._expected):
            table.pop(entry, None)


class _Answer:
    """What the reference gives for some inputs, computed when it is asked for."""

    def __init__(self, reference: Reference, inputs: list[Any]) -> None:
        self.inputs = inputs
        self._reference = reference
        self._declared: Expectation | None = None
        self._exact: Expectation | None = None

    def at_declared_precision(self) -> Expectation:
        if self._declared is None:
            self._declared = self._reference.expect(self.inputs, NanRule.MUST_MATCH, double=False)
        return self._declared

    def exact(self) -> Expectation:
        if self._exact is None:
            self._exact = self._reference.expect(self.inputs, NanRule.MUST_MATCH)
        return self._exact


def _cuda_arch(body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    """What torch's extension builder builds for on a device, as it is written in `TORCH_CUDA_ARCH_LIST`, and the device's own architecture."""
    device = torch.device(body["device"])
    known = [int(digits) for arch in torch.cuda.get_arch_list() if (digits := arch.removeprefix("sm_")).isdigit()]
    # A device newer than this torch is built for as the newest that it knows, which is what torch does.
    capability = min(torch.cuda.get_device_capability(device), divmod(max(known), 10)) if known else torch.cuda.get_device_capability(device)
    own = f"{capability[0]}.{capability[1]}"
    return {"built_for": os.environ.get("TORCH_CUDA_ARCH_LIST") or own, "own": own}


def main(channel: Channel) -> None:
    """Serves until the supervisor closes the channel."""
    keep_freed_memory()
    here = os.path.dirname(os.path.abspath(__file__))

    def unexpected(error: BaseException, op: str) -> WorkerError:
        if isinstance(error, torch.cuda.OutOfMemoryError):
            kind = "memory"
        else:
            # A kernel of the reference has failed while others were submitted: it is told of by whoever waits for the device next.
            kind = "problem_run" if "CUDA error" in str(error) else "internal"
        return failures.describe(error, kind, op, lambda name: name.startswith(here))

    serve(channel, Trusted().handlers(), unexpected)
