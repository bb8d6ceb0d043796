"""The trusted role: holds the problem, its reference and what is expected, and decides nothing about time.

Seeds of draws and expected outputs never leave this process; what comes from a candidate is bytes, checked before they are read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor

from . import ceilings, cuda_ipc, degenerate, failures
from .answers import floating, reduces
from .arena import Arena, write_arena
from .baselines import Baselines
from .channel import Channel, Reply, WorkerError, serve
from .delivery import deliver
from .device import Device, keep_freed_memory
from .judge import Judge
from .layout import can_scale, editable_copy
from .locations import Locations
from .problem import Problem
from .recipes import Recipe
from .reference import Reference
from .timing import Batch
from .trees import Untransportable, describe, describe_value, encode, map_tensors, tensors_of
from .trials import Trials

#: Operations that compute much which is not kept, and how little of a GPU's memory has to be left for that to be given back: one part in so many.
#: Between timed batches both sides hold what they need, and a GPU is slower for longer than a batch takes after much was freed.
_HALF = 2
_LARGE = {"expect": _HALF, "compare": _HALF, "baseline": _HALF, "verify": 8}
#: What a problem that rests may keep of a GPU's memory: one part in so many.
_LARGE_REST = 4
#: Those that come when everything that was handed out has been copied.
_AFTER_TRIALS = ("baseline", "verify")
#: Draws that suit a problem whose outputs are few numbers of many. A look at 128 of a million elements meets a far larger one of seven in one draw of 1,200,
#: and is right then: not twice.
_OF_REDUCTIONS = ("uneven", "spiked", "spiked", "sifted")
#: What is asked of a problem that is loaded: of its trials, and of all of it.
_OF_TRIALS = ("draw", "redraw", "share", "vary", "expect", "expect_in_a_row")
_ON_LOADED = (
    *_OF_TRIALS,
    *("select", "forget", "compare", "compare_state", "excuse", "verify", "baseline", "place", "refill", "takes", "time", "clear", "fill", "rest"),
    *("copy_rate", "device_state", "check_inputs"),
)


class Trusted:
    """The state of one loaded problem."""

    def __init__(self) -> None:
        self._loaded: _Loaded | None = None

    def load(self, body: dict[str, Any], _fds: list[int]) -> Reply:
        """Imports the problem, builds the module and runs it."""
        self._loaded = None
        device = Device(body["device"], alone=True)
        device.configure(body.get("threads"), body.get("policy"))
        seed = int(body["seed"])
        problem = Problem(body["source"], body["name"])
        init = problem.init_inputs(seed)
        reference = Reference(problem, init, seed, device)
        turns_tf32_on = device.takes_over_tf32()
        loaded = _Loaded(problem, reference, seed, device)
        facts = loaded.facts()
        # A first call may do it as well.
        turns_tf32_on = device.takes_over_tf32() or turns_tf32_on
        self._loaded = loaded
        tensors: list[Tensor] = []
        tree = encode(init, tensors, lambda tensor: tensor, computed=True)
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
                "sets": problem.sets(),
                "turns_tf32_on": turns_tf32_on,
                "leaves_gradients_open": problem.leaves_gradients_open,
                "form": replace(problem.form, rebinds=reference.rebinds).to_json(),
                "constants": encode(problem.constants(), [], lambda tensor: tensor, computed=True),
            },
            [fd],
        )

    def handlers(self) -> dict[str, Any]:
        """Every operation by name."""
        return {"load": self.load, "cuda_arch": _cuda_arch, **{name: self._on_loaded(name) for name in _ON_LOADED}}

    def _on_loaded(self, name: str) -> Any:
        def handle(body: dict[str, Any], fds: list[int]) -> Reply | dict[str, Any]:
            if self._loaded is None:
                raise WorkerError("internal", name, "no problem is loaded")
            try:
                reply = self._loaded.operation(name)(body, fds)
                if name in _LARGE:
                    self._loaded.make_room(name)
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
        self._mapped = cuda_ipc.Mapped()
        self._trials = Trials(problem, reference, seed, device)
        self._judge = Judge(self._trials, reference, device)

    def operation(self, name: str) -> Any:
        """What answers a request of this name."""
        owner = self._trials if name in _OF_TRIALS else self
        return getattr(owner, name)

    def facts(self) -> dict[str, Any]:
        """What a first run on the selected set of inputs shows."""
        inputs = self._problem.inputs(self._seed, self._device)
        self._trials.learn(inputs)
        outputs, first_ns = self._reference.first_run(inputs, lambda: [self._problem.inputs(self._seed + offset, self._device) for offset in (1, 2)])
        self._trials.learn_ties(inputs, outputs)
        reason, reference_ns = degenerate.find(self._problem, self._reference, inputs, outputs, first_ns, self._seed, self._device)
        known = list(zip(tensors_of(inputs), self._trials.structures))
        return {
            "inputs": [line for value in inputs for line in describe_value(value)],
            "outputs": describe_value(outputs),
            "degenerate": reason,
            "reference_ns": reference_ns,
            "device_memory": self._device.free_memory(),
            "more_draws": [
                *(("biased",) if self._trials.bears_biases(inputs, outputs) else ()),
                *(("blocked",) if self._trials.bears_blocks(inputs, outputs) else ()),
                *(_OF_REDUCTIONS if reduces(inputs, [outputs, self._reference.of_written(inputs)]) else ()),
                *self._trials.traits.draws(inputs),
            ],
            "carries_state": self._reference.carries_state,
            "in_inputs": self._reference.in_inputs,
            "moving": self._reference.moving,
            "structures": [found and found.to_json() for _tensor, found in known],
            "structure": [
                f"tensor {index + 1} of the inputs, {describe(tensor)}, is {found.told()}" for index, (tensor, found) in enumerate(known) if found and found.told()
            ],
        }

    def make_room(self, name: str) -> None:
        """Leaves the candidate memory that nothing here needs any more after an operation of this name, where little is left."""
        if name in _AFTER_TRIALS and self._device.is_short(_LARGE[name]):
            # What was handed out has been copied by then.
            self._trials.give_back()
        self._device.make_room(_LARGE[name])

    def select(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Goes over to another set of inputs; nothing that was drawn, expected or prepared for the last one stays."""
        self._batch.clear()
        self._mapped.clear()
        self._trials.renew()
        self._problem.select(body["set"])
        self._reference.renew()
        self._baselines = Baselines(self._reference, self._device)
        return self.facts()

    def excuse(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return {"undecided": self._judge.excuse(body["entry"])}

    def compare(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        return self._judge.compare(body, Arena.received(fds))

    def compare_state(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        return self._judge.compare_state(body, Arena.received(fds))

    def verify(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        arena = Arena.received(fds)
        inputs = [self._trials.base(call["base"]) for call in body["calls"]]
        with self._device.alone() if self._batch.is_small(tensors_of(inputs)) else nullcontext():
            return {"comparisons": self._judge.verify(body["calls"], arena)}

    def forget(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        if body.get("all"):
            self._mapped.clear()
        self._trials.forget(body.get("entries", []), everything=bool(body.get("all")))
        return {}

    def baseline(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        known = self._trials.expected(0)
        first_call_ns = self._baselines.prepare(body["kind"], self._trials.base(0), known.outputs.baseline if known else None)
        self._batch.settle()
        return {"first_call_ns": first_call_ns}

    def place(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        self._batch.place(body["entries"], self._trials.base)
        return {}

    def refill(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Places an entry's inputs, moved about for each call, in memory that earlier batches have used."""
        base = self._trials.base(body["base"])
        moved = zip(body["entries"], body["rotate"], body["stir"], strict=True)
        wanted = {entry: Recipe(rotate=rotate, stir=stir) for entry, rotate, stir in moved}
        self._batch.refill(wanted, base, self._trials.fitting(base))
        return {}

    def takes(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Whether the reference runs on an entry's inputs by a recipe, and gives what is not finite no more often than on the entry itself, but for an
        eighth of its outputs: elements in other places may make a few more. Where square matrices are decomposed, elements that come twice make one of
        hundreds or thousands singular, which one look would not show: then it has to take those of which a row comes twice. Elements that come twice
        must not tie, either, so that integers of the outputs are a matter of chance."""
        base = self._trials.base(body["entry"])
        inputs = [self._trials.made({**body, "base": body["entry"]})]
        is_stirred = Recipe.parse(body.get("recipe")).stir != 0

        def without_structure(change: Callable[[Tensor], Tensor]) -> list[Any]:
            known = iter(self._trials.fitting(base))
            return map_tensors(base, lambda tensor: tensor if next(known, None) else change(tensor))

        if self._problem.decomposes and is_stirred:
            inputs.append(without_structure(_with_a_row_twice))
        try:
            own, *others = (self._reference.outputs(made) for made in (base, *inputs))
            has_integers = any(not (tensor.is_floating_point() or tensor.is_complex()) for tensor in tensors_of(own))
            if is_stirred and has_integers and self._reference.sensitivity.wavers(without_structure(_with_parts_twice)):
                return {"takes": False}
        except Exception as error:  # what a reference raises for inputs that it was not written for is its own affair
            if failures.lost_the_device(error):
                raise
            return {"takes": False}
        most = _not_finite(own) + sum(tensor.numel() for tensor in floating(own)) // 8
        return {"takes": all(_not_finite(outputs) <= most for outputs in others)}

    def time(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        try:
            inner_ns = self._batch.time(self._baselines.callable(body["kind"]))
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
        """Writes the inputs of an entry, or other draws of its kind, moved about for each call, into device memory of the candidate, while that is stopped."""
        calls: dict[int, list[tuple[Recipe, list[Any]]]] = {}
        for call in body["calls"]:
            recipe = Recipe.parse(call["recipe"])
            calls.setdefault(recipe.draw, []).append((recipe, call["places"]))
        try:
            blocks = self._mapped.open(body["blocks"], self._device.torch)
            for draw, of_draw in calls.items():
                inputs = self._trials.drawn(body["entry"], draw)
                wanted = [recipe for recipe, _places in of_draw]
                for tensor, known, *places in zip(tensors_of(inputs), self._trials.fitting(inputs), *(places for _recipe, places in of_draw), strict=True):
                    deliver(tensor, known, wanted, places, blocks)
        except cuda_ipc.DriverError as error:
            raise Untransportable(f"device memory that cannot be written: {error}") from error
        # What was written last would otherwise be found there sooner than what was written first. Returns when all is written.
        self._device.flush_cache()
        return {}

    def rest(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Gives back memory that is only kept for the next evaluation, while another problem is evaluated, where that may need it."""
        self._batch.clear(entirely=True)
        if self._device.is_short(_HALF) or self._device.keeps(_LARGE_REST):
            self._trials.give_back()
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
        tree = encode(inputs, tensors, lambda tensor: tensor, computed=True)
        fd, entries = write_arena(tensors)
        label = name or ", ".join(line for value in inputs for line in describe_value(value))
        return Reply({"inputs": tree, "tensors": entries, "label": label, "skipped": None}, [fd])

    def copy_rate(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return {"bytes_per_second": ceilings.copy_rate(self._device)}

    def device_state(self, _body: dict[str, Any], _fds: list[int]) -> Any:
        return ceilings.state(self._device)


def _with_a_row_twice(tensor: Tensor) -> Tensor:
    """Square matrices of which the second row is like the first; any other tensor itself."""
    if tensor.dim() < 2 or not tensor.shape[-1] == tensor.shape[-2] > 1 or not can_scale(tensor):
        return tensor
    copy, elements = editable_copy(tensor, tensor.device)
    if elements.shape == tensor.shape:
        elements.detach()[..., 1, :] = elements.detach()[..., 0, :]
    return copy


def _with_parts_twice(tensor: Tensor) -> Tensor:
    """Floating tensors of which the second eighth of the rows and of the columns is like the first, as it may be where a run comes in the place of
    another."""
    if not tensor.dim() or not can_scale(tensor):
        return tensor
    copy, elements = editable_copy(tensor, tensor.device)
    if elements.shape == tensor.shape:
        for dimension in {0, tensor.dim() - 1}:
            lines = elements.detach().transpose(0, dimension)
            count = -(-lines.shape[0] // 8)
            twice = lines[count : 2 * count]
            twice.copy_(lines[: twice.shape[0]].clone())
    return copy


def _not_finite(outputs: Any) -> int:
    """How many values are NaN or infinite."""
    return sum(int((~torch.isfinite(tensor)).sum()) for tensor in floating(outputs))


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
            kind = "problem_run" if failures.lost_the_device(error) else "internal"
        return failures.describe(error, kind, op, lambda name: name.startswith(here))

    serve(channel, Trusted().handlers(), unexpected)
