"""The untrusted role: one candidate, inside the sandbox. Every reply is a claim that the supervisor checks."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

from . import cuda_ipc, extension_build, failures, interpreter, launches, triton_driver
from .arena import Arena, locate
from .candidate import Candidate, OtherState
from .channel import Channel, WorkerError, serve
from .device import Device, keep_freed_memory
from .forms import Form
from .integrity import Integrity
from .layout import Layout, fresh_copy, guarded_copy, window_of
from .locations import Locations
from .timing import Batch
from .trees import Tree, Untransportable, decode, tensors_of

#: What calls in trials took, poison above all, is given back where less than one part of a GPU's memory in so many is left.
_HALF = 2
_locate = locate
_fresh_copy = fresh_copy
_guarded_copy = guarded_copy


class Untrusted:
    """The operations; each takes a request's body and descriptors."""

    def __init__(self) -> None:
        self._candidate: Candidate | None = None
        self._device: Device | None = None
        self._batch: Batch | None = None
        self._inputs: dict[int, list[Any]] = {}
        self._blocks = cuda_ipc.Blocks()
        # What a reply located has to stay where it is until the supervisor has read it.
        self._kept: list[Tensor] = []
        # Whether a batch was placed: by then everything is imported and compiled.
        self._settled = False
        self._integrity: Integrity | None = None

    def handlers(self) -> dict[str, Any]:
        """Every operation by name."""
        names = ("open", "build", "construct", "vary", "inputs", "run", "state", "place", "time", "held", "trace", "forget", "clear")
        return {name: self._watched(name, getattr(self, name)) for name in names}

    def _watched(self, name: str, operation: Any) -> Any:
        """The operation, with what was noticed of the candidate in its reply. Looking takes time, so not in those that are timed."""

        def handle(body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
            reply: dict[str, Any] = operation(body, fds)
            findings = self._findings() if name not in ("time", "held") else []
            return {**reply, "findings": findings} if findings else reply

        return handle

    def _findings(self) -> list[dict[str, str]]:
        found = self._integrity.findings() if self._integrity is not None else []
        changed = self._device.changed_flags() if self._device is not None else []
        if changed:
            message = f"its calls change {', '.join(changed)}, and the problem allows nothing below float32"
            found.append({"rule": "precision_flags", "message": message})
        return found

    def open(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Opens the device and notes what has to stay, ahead of a candidate: a GPU takes longer for that than for most kernels."""
        if self._device is None:
            self._device = Device(body["device"], alone=True)
            if self._device.is_cuda:
                cuda_ipc.prepare()
                torch.empty(1, device=self._device.torch)
                self._device.synchronize()
        if self._integrity is None:
            self._integrity = Integrity()
        return {}

    def build(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        self.open(body, fds)
        assert self._device is not None and self._integrity is not None
        self._device.configure(body.get("threads"), body.get("policy"))
        self._batch = Batch(self._device)
        self._candidate = Candidate(body["path"], self._device, int(body["seed"]))
        self._candidate.offer(body.get("problem_name"), body.get("constants"))
        if arch := body.get("cuda_arch"):
            os.environ["TORCH_CUDA_ARCH_LIST"] = arch
        if built := body.get("built"):
            extension_build.use_built(built)
        self._integrity.import_begins(self._candidate.folder())
        if (size := body.get("batch")) and not self._device.is_cuda:
            self._batch.foresee(size["inputs"], size["outputs"])
        # Until calls are timed, also between them: a thread may allocate what the next one returns.
        self._device.poison_heap()
        self._candidate.import_file()
        return {}

    def construct(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        candidate, _device, _batch = self._built("construct")
        tensors = self._received(body, fds)
        state = [(name, tensors[place["tensor"]]) for name, place in body["state"]]
        init = decoded(body["init"], [_fresh_copy(tensor, tensor.device) for tensor in tensors])
        unmatched = candidate.construct(init, state, Form.parse(body.get("form")), OtherState.parse(body.get("vary")), bool(body.get("carries_state")))
        if self._integrity is not None:
            self._integrity.calls_begin()
        return {"unmatched": unmatched}

    def vary(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, device, _batch = self._built("vary")
        other = OtherState.parse(body.get("state"))
        if other is None:
            raise WorkerError("internal", "vary", "no state is named")
        device.set_flags()
        return candidate.vary(other, bool(body.get("is_left")))

    def inputs(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        _candidate, device, _batch = self._built("inputs")
        own = self._copied(self._received(body, fds), tensors_of(self._inputs.get(body["entry"], [])), device)
        device.synchronize()
        self._inputs[body["entry"]] = decoded(body["inputs"], own)
        return {"located": [_locate(tensor.detach()) for tensor in own]}

    def _copied(self, received: list[Tensor], last: list[Tensor], device: Device) -> list[Tensor]:
        """Copies of their own; where the entry's last inputs were of the same form, in their place: an address says nothing of a value."""
        if len(last) != len(received) or any(Layout.of(old) != Layout.of(new) for old, new in zip(last, received)):
            return [_fresh_copy(tensor, device.torch) if device.is_cuda else _guarded_copy(tensor) for tensor in received]
        for old, new in zip(last, received):
            window_of(old.detach()).copy_(window_of(new))
        return last

    def run(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, device, _batch = self._built("run")
        self._kept = []
        inputs = self._of(body["entry"])
        candidate.interleave(bool(body.get("interleaves")))
        outputs = candidate.run(inputs, bool(body.get("poison")), tensors_of(inputs), bool(body.get("goes_on")))
        device.make_room(_HALF)
        return {**self._located(candidate, outputs), "missed": candidate.missed}

    def state(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, _device, _batch = self._built("state")
        self._kept = []
        return self._located(candidate, candidate.guarded("run", "state", lambda: candidate.state(body["names"])))

    def place(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        _candidate, device, batch = self._built("place")
        self._kept = []
        device.unpoison()
        if not self._settled:
            # What the trials have used; from here on every batch uses the memory of the last one.
            device.make_all_room()
            batch.settle()
            self._settled = True
        device.note_flags()
        batch.place(body["entries"], self._of)
        device.set_flags()
        return {"counter": batch.counter(), **self._locations(batch.all_inputs(), device)}

    def time(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, _device, batch = self._built("time")
        self._kept = []
        call = candidate.module()
        copies, integrity = bool(body.get("copies")), self._integrity
        assert integrity is not None
        integrity.in_batch = True
        inner_ns = candidate.guarded("run", "time", lambda: batch.time(call, copies=copies))
        integrity.in_batch = False
        return {"inner_ns": inner_ns}

    def held(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, device, batch = self._built("held")
        return candidate.guarded("output_type", "held", lambda: self._locations(batch.outputs(), device))

    def trace(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, device, batch = self._built("trace")
        call, inputs = candidate.module(), batch.inputs(body["entry"]) or []
        device.set_flags()
        traced = candidate.guarded("run", "trace", lambda: launches.trace(device, lambda: call(*inputs)))
        return {**traced, "launchers": triton_driver.told()}

    def forget(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        for entry in list(self._inputs) if body.get("all") else body.get("entries", []):
            self._inputs.pop(entry, None)
        return {}

    def clear(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        _candidate, device, batch = self._built("clear")
        device.note_flags()
        self._kept = []
        batch.clear()
        return {}

    def _built(self, op: str) -> tuple[Candidate, Device, Batch]:
        if self._candidate is None or self._device is None or self._batch is None:
            raise WorkerError("internal", op, "no candidate is built")
        return self._candidate, self._device, self._batch

    def _of(self, entry: int) -> list[Any]:
        inputs = self._inputs.get(entry)
        if inputs is None:
            raise WorkerError("internal", "entry", f"no inputs were given for entry {entry!r}")
        return inputs

    def _received(self, body: dict[str, Any], fds: list[int]) -> list[Tensor]:
        try:
            return Arena.received(fds).tensors(body["tensors"])
        except Untransportable as error:
            raise WorkerError("internal", str(body.get("op")), str(error)) from error

    def _locations(self, values: list[Any], device: Device) -> dict[str, Any]:
        locations = Locations(self._blocks)
        try:
            for value in values:
                locations.add(value)
        except Untransportable as error:
            raise WorkerError("output_type", "time", f"the candidate returns {error}") from None
        device.synchronize()
        self._kept = locations.kept
        return locations.reply()

    def _located(self, candidate: Candidate, outputs: Any) -> dict[str, Any]:
        tree, tensors = candidate.plain(outputs)
        entries = []
        for tensor in tensors:
            entry, kept = _shared(tensor)
            entries.append(entry)
            self._kept.append(kept)
        return {"outputs": tree, "tensors": entries}


def _shared(tensor: Tensor) -> tuple[dict[str, Any], Tensor]:
    try:
        return _locate(tensor), tensor
    except cuda_ipc.DriverError:
        # Memory of another allocator (a pool, a graph, an expandable segment) cannot be opened elsewhere; a copy can.
        copy = _fresh_copy(tensor, tensor.device)
        return _locate(copy), copy


def decoded(tree: Tree, tensors: list[Tensor]) -> list[Any]:
    """The values that a request carries."""
    try:
        return list(decode(tree, tensors, records=True))
    except Untransportable as error:
        raise WorkerError("internal", "decode", str(error)) from error


def unexpected(error: BaseException, op: str) -> WorkerError:
    """What a defect of ours is answered with."""
    return failures.describe(error, "internal", op, lambda name: False)


def main(channel: Channel) -> None:
    """Serves until the supervisor closes the channel."""
    keep_freed_memory()
    interpreter.mend()
    serve(channel, Untrusted().handlers(), unexpected)
