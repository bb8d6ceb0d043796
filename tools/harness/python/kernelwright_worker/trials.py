"""Draws of inputs, and what the reference gives for them.

Seeds and expected outputs never leave the process that holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, islice
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor

from . import another_state, cuda_ipc, recipes, structure, ties
from .answers import floating, gradients_vanish, no_answer
from .arena import write_arena
from .channel import Reply, WorkerError
from .compare import Size, is_rounding_alone, sizes
from .device import Device
from .draws import LABELS, SPIKES, can_block, transform
from .expected import NanRule
from .failures import lost_the_device
from .layout import Layout, can_scale, same_bits
from .outputs import agree, leaves
from .paths import GRADIENTS, named_tensors
from .problem import Problem
from .recipes import Recipe
from .records import members
from .reference import Expectation, Reference
from .structure import Structure
from .tolerance import Precision
from .traits import Traits
from .trees import encode, tensors_of

#: Draws of finite inputs that are none of the problem's own.
_ELSEWHERE = (
    *("scaled", "structured", "unsigned", "blank", "small", "shifted", "negative", "biased", "blocked", "tiny", "uneven", "spiked"),
    *("masked", "skewed", "lower", "wide", "tied", "ranged", "raised"),
)
#: Draws that are left out as a whole where rounding decides integers: a block of zeros takes the place of equal rows, of which more is to be said, and
#: a NaN, or what saturates, decides what is chosen.
_OF_INTEGERS_ALONE = ("structured", "unsigned", "special", "raised", "opposed")
#: In so many ways operators round otherwise, to see what follows from that.
_ROUNDINGS = 4
#: What an output that cancels counts as at least, as a part of what it is on the problem's own draw.
_FLOOR = 0.01
#: The same of inputs that are all far below zero.
_FLOOR_OF_NEGATIVE = 0.5
#: What an output of small inputs counts as at least, if it was as large before: its limit is then some last digits of one.
_FLOOR_OF_SMALL = 5e-3
#: Why a draw is left out that a large problem has no memory for, beside its own. The supervisor knows it by this end (`attempt.rs`).
_NO_ROOM = "there is no memory left for it beside the problem's own"
#: Draws that take more of the free memory than one part in so many are not made for calls of their own.
_LARGE_DRAW = 32


class Trials:
    """The entries of one set of inputs: what was drawn, and what is expected of it. Entry 0 is the problem's own draw."""

    def __init__(self, problem: Problem, reference: Reference, seed: int, device: Device) -> None:
        self._problem = problem
        self._reference = reference
        self._seed = seed
        self._device = device
        self._outbox = cuda_ipc.Outbox(device.torch) if device.is_cuda else None
        self._inputs: dict[int, list[Any]] = {}
        self._kinds: dict[int, str] = {}
        self._expected: dict[int, Expectation] = {}
        #: Of outputs, by path, on the problem's own draw.
        self._sizes: dict[str, Size] = {}
        #: Whether the reference gives finite values on the problem's own draw.
        self._is_finite = False
        #: Whether float64 comes to something else even there.
        self._is_in_doubt = False
        #: By which of the factors spikes have to grow to decide what a reduction comes to, once that is known.
        self._spike: float | None = None
        #: One for each tensor of the selected set of inputs.
        self.structures: list[Structure | None] = []
        self.traits = Traits()

    def learn(self, inputs: list[Any]) -> None:
        """What inputs are in another draw as well."""
        again = self._problem.inputs(self._seed + 1, self._device)
        ranges = self._problem.ranges
        self.structures = structure.find(inputs, lambda: again, ranges)
        known = replace(Traits.of(inputs, again), ranges=ranges)
        self.traits = replace(known, counts=()) if self._problem.searches else known

    def learn_ties(self, inputs: list[Any], outputs: Any) -> None:
        """Of which inputs the outputs name the largest elements."""
        if not self._problem.orders:
            self.traits = replace(self.traits, extremes=ties.find(inputs, outputs))

    def renew(self) -> None:
        """Forgets every entry, and what is known of the draws of one set of inputs."""
        self.forget(everything=True)
        self._spike = None

    def base(self, entry: int) -> list[Any]:
        """An entry's inputs."""
        inputs = self._inputs.get(entry)
        if inputs is None:
            raise WorkerError("internal", "entry", f"no inputs were drawn for entry {entry!r}")
        return inputs

    def kind(self, entry: int) -> str:
        """How an entry was drawn."""
        return self._kinds.get(entry, "problem")

    def expected(self, entry: int) -> Expectation | None:
        """What is expected of an entry, if that is known."""
        return self._expected.get(entry)

    def fitting(self, inputs: list[Any]) -> list[Structure | None]:
        """What is known of the structure of each tensor of these inputs."""
        return structure.fitting(self.structures, inputs)

    def made(self, call: dict[str, Any]) -> list[Any]:
        """The inputs of a timed call, made again."""
        recipe = Recipe.parse(call.get("recipe"))
        base = self.drawn(call["base"], recipe.draw)
        return recipes.apply(base, recipe, self._device.torch, self.fitting(base))

    def drawn(self, entry: int, seed: int) -> list[Any]:
        """Another draw of an entry's kind. Without a seed the entry's own inputs, and also where there are none from it, or of another form: shapes may
        depend on chance."""
        own = self.base(entry)
        if not seed:
            return own
        try:
            inputs, skipped = self._transformed(self._problem.inputs(seed, self._device), self.kind(entry), seed)
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return own
        return inputs if skipped is None and _are_alike(own, inputs) else own

    def redraw(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """How long another draw of an entry's kind takes, in nanoseconds; null where it cannot be made again from its seed, or is large."""
        entry, seed = body["entry"], int(body["seed"])
        size = sum(tensor.numel() * tensor.dtype.itemsize for tensor in tensors_of(self.base(entry)))
        free = self._device.free_memory()
        if free is not None and size > free // _LARGE_DRAW:
            return {"ns": None}
        try:
            first = self.drawn(entry, seed)
            self._device.synchronize()
            start = perf_counter_ns()
            second = self.drawn(entry, seed)
            self._device.synchronize()
            nanoseconds = perf_counter_ns() - start
        except torch.OutOfMemoryError:
            return {"ns": None}
        again = all(map(same_bits, tensors_of(first), tensors_of(second)))
        return {"ns": nanoseconds if again and first is not second else None}

    def forget(self, entries: Sequence[int] = (), everything: bool = False) -> None:
        """Drops entries, with what is expected of them."""
        for entry in {*self._inputs, *self._expected} if everything else entries:
            for table in (self._inputs, self._kinds, self._expected):
                table.pop(entry, None)

    def give_back(self) -> None:
        """Drops device memory that other processes were given."""
        if self._outbox is not None:
            self._outbox.clear()

    def draw(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        """Draws an entry from the problem's distribution, or makes it from another one, and hands it out."""
        entry, kind, base = body["entry"], body["kind"], body.get("base")
        self.forget([entry])
        try:
            inputs = self._problem.inputs(int(body["seed"]), self._device) if base is None else self.base(base)
            inputs, skipped = self._transformed(inputs, kind, int(body["seed"]))
        except torch.OutOfMemoryError:
            if entry == 0:
                raise
            inputs, skipped = [], _NO_ROOM
        if skipped is not None:
            return Reply({"inputs": None, "tensors": [], "label": LABELS[kind], "skipped": skipped})
        self._inputs[entry], self._kinds[entry] = inputs, kind
        return self.share(body, [])

    def share(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        """Hands out an entry's inputs: on a GPU where they lie, if processes can share its memory."""
        entry = body["entry"]
        inputs = self.base(entry)
        tensors: list[Tensor] = []
        tree = encode(inputs, tensors, lambda tensor: tensor, computed=True)
        answer = {"inputs": tree, "label": LABELS[self._kinds[entry]], "skipped": None}
        if self._outbox is not None and body.get("stays"):
            # What nobody else is to have takes no room of theirs.
            return Reply({**answer, "tensors": [Layout.of(tensor).entry() for tensor in tensors]})
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
        seed, variable, beside = int(body["seed"]), self._reference.variable_state(), body.get("beside")
        # Where it is trained, a step of that changes other tensors than those that have changed before.
        kept = {name: variable[name] for name in beside or ()}
        changing = variable if beside is None else self._reference.learnt_state(kept)
        if not changing or self._reference.carries_state:
            return {"names": []}
        others = another_state.other_values({**kept, **changing}, seed)
        inputs = self.base(0)
        before = self._reference.results(inputs)
        try:
            self._reference.replace_state(others)
            after = self._reference.results(inputs)
            shows = not agree(before, after) and all(no_answer(results, "problem") is None for results in (before, after))
        except WorkerError as error:
            if lost_the_device(error):
                raise
            shows = False
        if not shows:
            self._reference.replace_state(another_state.other_values(kept, seed))
        return {"names": list(changing) if shows else []}

    def expect(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Has the reference say what an entry should give, and says what that is worth."""
        entry = body["entry"]
        kind = self.kind(entry)
        try:
            expectation = self._reference.expect(self.base(entry), self.nan_rule(kind))
        except torch.OutOfMemoryError:
            if entry == 0:
                raise
            self.forget([entry])
            return {"skipped": _NO_ROOM}
        except WorkerError as error:
            if kind == "problem" or lost_the_device(error):
                raise
            return {"skipped": f"the reference does not run on it: {error.message}"}
        if kind == "problem":
            self._sizes = sizes(expectation.outputs.baseline, "output")
            expectation.outputs.looks_at_small = True
            self._is_finite = all(bool(torch.isfinite(tensor).all()) for tensor in floating(expectation.outputs.baseline))
            self._is_in_doubt = expectation.in_doubt
        elif kind == "negative":
            # Exponentials of all that is far below zero vanish, and what is left of them is no error; nor is what a fused product rounds otherwise where
            # all are clamped to the same.
            expectation.outputs.floors = {path: _FLOOR_OF_NEGATIVE * size.mean for path, size in self._sizes.items()}
        elif kind in ("structured", "unsigned"):
            # Sums of which half has changed its sign are small differences of large numbers.
            expectation.outputs.floors = {path: _FLOOR * size.mean for path, size in self._sizes.items() if size.is_of_few}
        elif kind == "special":
            for outputs in (expectation.outputs, *expectation.written.values()):
                outputs.keeps_nan, outputs.is_replaceable, outputs.chooses = not self._problem.chooses, True, self._problem.chooses
        elif kind == "tied":
            # Last digits are not what these are about.
            expectation.outputs.nearby = expectation.outputs.rounded = tuple
        elif kind == "small":
            # What a function makes on its way may be of size one all the same, as a logistic function is, and what rounding does to it is as large.
            expectation.outputs.floors = {path: min(size.mean, _FLOOR_OF_SMALL) for path, size in self._sizes.items()}
        if kind != "problem" and self._problem.trains:
            forward = floating(expectation.outputs.baseline["output"])
            expectation.outputs.overflows_forward = not all(bool(torch.isfinite(tensor).all()) for tensor in forward)
            expectation.outputs.saturates = self._problem.saturates and kind == "scaled"
        reason, apart_from = None if kind == "problem" else no_answer(expectation.outputs.baseline, kind), None
        if reason is None and (
            kind != "problem" and expectation.integers_differ
            or self._ties_decide(kind, self.base(entry), expectation.outputs.baseline)
        ):
            says_more = kind not in _OF_INTEGERS_ALONE and not expectation.written and not self._problem.trains
            free = self._left_to_rounding(self.base(entry), expectation.outputs.baseline) if says_more else None
            if free is None:
                reason = "rounding decides its integer outputs"
            else:
                expectation.outputs.free, apart_from = free, "what rounding decides of its outputs"
        elif reason is None and kind != "problem" and self._problem.decomposes and expectation.in_doubt and not self._is_in_doubt:
            # A kernel that solves better gives what neither of the two does.
            reason = "its matrices are next to singular, and rounding decides what comes of them"
        elif reason is None and kind in ("raised", "opposed"):
            reason = self._raised_decides(self.base(entry), expectation.outputs.baseline)
        elif reason is None and kind in ("scaled", "negative") and self._problem.trains and 0 in self._expected:
            before = self._expected[0].outputs.baseline
            reason = "gradients vanish, and rounding decides what is left of them" if gradients_vanish(expectation.outputs.baseline, before) else None
            if reason is None and kind == "negative" and self._problem.saturates:
                # Exponents are so large that their last digits decide what exponentials come to.
                named = named_tensors(expectation.outputs.baseline, "output")
                expectation.outputs.free = frozenset(path for path, _tensor in named if path.startswith(GRADIENTS))
                apart_from = "gradients, as exponentials saturate"
        if reason is None:
            self._expected[entry] = expectation
        worthless = kind == "problem" and is_rounding_alone(expectation.outputs)
        # Calls that are made of such a draw are compared as a whole.
        decides = reason is None and apart_from is None and self._decides(kind, entry, expectation.outputs.baseline)
        return {"skipped": reason, "rounding_decides": worthless, "decides": decides, "apart_from": apart_from}

    def bears_biases(self, inputs: list[Any], baseline: Any) -> bool:
        """Whether a draw with columns far above and below what they were says something."""
        return any(map(can_scale, tensors_of(inputs))) and self._raised_decides(inputs, baseline) is None

    def bears_blocks(self, inputs: list[Any], baseline: Any) -> bool:
        """Whether a draw of matrices that fall into parts says something."""
        return any(map(can_block, tensors_of(inputs))) and self._raised_decides(inputs, baseline) is None

    def _raised_decides(self, inputs: list[Any], baseline: Any) -> str | None:
        """Why a draw with a few far larger elements decides nothing, if so."""
        if self._problem.trains:
            return "where a softmax saturates, rounding decides what is left of its gradients"
        if self._problem.orders or any(not (leaf.is_floating_point() or leaf.is_complex()) for leaf in leaves(baseline)):
            return "where a few rows saturate, ties of what vanishes may decide what is chosen"
        if self._device.precision is not Precision.FULL or any(tensor.dtype.itemsize == 2 for tensor in [*floating(inputs), *floating(baseline)]):
            return "what rounding to fewer bits does to the far larger elements is as large as the others"
        return None

    def expect_in_a_row(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Has the reference say what entries should give where a call is made on each of them, in this order; of how many that is something to go by."""
        entries = body["entries"]
        try:
            expectations = self._reference.expect_in_a_row([self.base(entry) for entry in entries])
        except torch.OutOfMemoryError:
            return {"calls": 0, "skipped": _NO_ROOM}
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return {"calls": 0, "skipped": f"the reference does not run so often: {error.message}"}
        self._expected.update(zip(entries, expectations))
        count = len(expectations)
        skipped = None if count == len(entries) else f"from call {count + 1} on rounding decides, or the reference gives something else each time"
        return {"calls": count, "skipped": skipped}

    def nan_rule(self, kind: str) -> NanRule:
        """What a NaN of the reference asks for in a draw of this kind."""
        if kind in ("flipped", "opposed") and self._is_finite:
            return NanRule.NEITHER
        if kind in ("special", "flipped", "opposed"):
            return NanRule.ANYTHING
        return NanRule.FINITE if kind in _ELSEWHERE and self._is_finite else NanRule.MUST_MATCH

    def _transformed(self, inputs: list[Any], kind: str, seed: int) -> tuple[list[Any], str | None]:
        known = self.fitting(inputs)

        def changed(spike: float) -> tuple[list[Any], str | None]:
            return transform(inputs, kind, self._device.torch, seed, known, self.traits, spike)

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
            return self._reference.outputs(make())
        except torch.OutOfMemoryError:
            return None
        except WorkerError as error:
            if lost_the_device(error):
                raise
            return None

    def _tells_from_base(self, outputs: Any) -> bool:
        """Whether outputs are far from those of the problem's own draw."""
        expected = self._expected.get(0)
        return expected is None or self._reference.sensitivity.are_far(expected.outputs.baseline, outputs)

    def _decides(self, kind: str, entry: int, outputs: Any) -> bool:
        """Whether a few elements of a draw decide what it comes to: of a root, or of what is bounded, they may not."""
        if kind == "spiked":
            return self._tells_from_base(outputs)
        if kind == "uneven":
            seed = self._seed + 1 + entry
            others = self._outputs(lambda: self._transformed(self._problem.inputs(seed, self._device), kind, seed)[0])
            return others is not None and self._reference.sensitivity.are_far(outputs, others)
        return True

    def _ties_decide(self, kind: str, inputs: list[Any], baseline: Any) -> bool:
        """Whether integers or bools of the outputs change where a draw's ties are broken: equal rows and zeros make some that are nobody's fault."""
        breaking = [("nudged", 0)] if kind in ("structured", "unsigned") else []
        if self._problem.orders and kind in ("structured", "unsigned", "blank", "special", "small", "tiny"):
            # Zeros have no last digits. Of two alone, one order is the one that there was.
            breaking += [("untied", 0), ("untied", 1)]
        exact = [tensor for tensor in tensors_of(baseline) if not (tensor.is_floating_point() or tensor.is_complex())]
        if not breaking or not any(tensor.numel() for tensor in exact):
            return False

        def changes(broken: tuple[str, int]) -> bool:
            kind, seed = broken
            moved = tensors_of(self._reference.outputs(transform(inputs, kind, self._device.torch, seed)[0]))
            after = [tensor for tensor in moved if not (tensor.is_floating_point() or tensor.is_complex())]
            return len(after) != len(exact) or not all(same_bits(a, b) for a, b in zip(exact, after))

        return any(map(changes, breaking))

    def _left_to_rounding(self, inputs: list[Any], baseline: Any) -> frozenset[str] | None:
        """The paths of all outputs but values beside the integers that say where they are, such as those of the largest, if these stay what they are where last
        digits change, ties are broken, or operators round otherwise. None where there are no such values, or a number that is no tensor."""
        named = dict(named_tensors(baseline, "output"))
        if len(named) < len(list(leaves(baseline))) or _holds_whole_numbers(baseline):
            return None
        places = {tensor.shape for tensor in named.values() if not (tensor.is_floating_point() or tensor.is_complex())}
        stay = {path: tensor for path, tensor in named.items() if tensor.is_floating_point() and tensor.numel() and tensor.shape in places}
        breaking = (("nudged", 0), ("untied", 0), ("untied", 1))
        broken = (self._outputs(lambda: transform(inputs, kind, self._device.torch, seed)[0]) for kind, seed in breaking)
        # Of what has vanished, or come to one, several are tied exactly.
        rounded = (outputs for outputs, _written in islice(self._reference.sensitivity.rounded(inputs, saturated=True), _ROUNDINGS))
        for others in chain(broken, rounded) if stay else ():
            if others is None:
                return None
            moved = dict(named_tensors(others, "output"))
            stay = {path: tensor for path, tensor in stay.items() if path in moved and not self._reference.sensitivity.are_far(tensor, moved[path])}
        return frozenset(named.keys() - stay.keys()) if stay else None


def _holds_whole_numbers(value: Any) -> bool:
    """Whether an integer or a text is among outputs, outside of tensors."""
    if isinstance(value, (bool, int, str)):
        return True
    return not isinstance(value, Tensor) and any(map(_holds_whole_numbers, members(value) or ()))


def _are_alike(some: list[Any], others: list[Any]) -> bool:
    """Whether inputs differ in nothing but the values of their tensors."""
    forms = []
    for inputs in (some, others):
        tensors: list[Tensor] = []
        tree = encode(inputs, tensors, lambda tensor: tensor)
        forms.append((tree, [(Layout.of(tensor), tensor.requires_grad) for tensor in tensors]))
    return forms[0] == forms[1]
