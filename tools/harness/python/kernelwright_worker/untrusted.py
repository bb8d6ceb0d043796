"""The untrusted role: one candidate, inside the sandbox. Every reply is a claim that the supervisor checks."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from . import cuda_ipc, failures, interpreter
from .arena import Arena, locate
from .candidate import Candidate
from .channel import Channel, WorkerError, serve
from .device import Device, keep_freed_memory
from .layout import fresh_copy
from .timing import Batch
from .trees import Tree, Untransportable, decode, tensors_of

_locate = locate
_fresh_copy = fresh_copy


class Untrusted:
    """The operations; each takes a request's body and descriptors."""

    def __init__(self) -> None:
        self._candidate: Candidate | None = None
        self._device: Device | None = None
        self._batch: Batch | None = None
        self._inputs: dict[int, list[Any]] = {}
        # What a reply located has to stay where it is until the supervisor has read it.
        self._kept: list[Tensor] = []
        # Whether a batch was placed: by then everything is imported and compiled.
        self._settled = False

    def handlers(self) -> dict[str, Any]:
        """Every operation by name."""
        names = ("build", "construct", "inputs", "run", "place", "time", "locate", "forget", "clear")
        return {name: getattr(self, name) for name in names}

    def build(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        self._device = Device(body["device"])
        self._device.configure(body.get("threads"), body.get("policy"))
        self._batch = Batch(self._device)
        if self._device.is_cuda:
            cuda_ipc.prepare()
        self._candidate = Candidate(body["path"], self._device, int(body["seed"]))
        return {"import_ns": self._candidate.import_file()}

    def construct(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        candidate, _device, _batch = self._built("construct")
        tensors = self._received(body, fds)
        state = [(name, tensors[place["tensor"]]) for name, place in body["state"]]
        return candidate.construct(_decoded(body["init"], [_fresh_copy(tensor, tensor.device) for tensor in tensors]), state)

    def inputs(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        _candidate, device, _batch = self._built("inputs")
        own = [_fresh_copy(tensor, device.torch) for tensor in self._received(body, fds)]
        device.synchronize()
        self._inputs[body["entry"]] = _decoded(body["inputs"], own)
        return {"located": [_locate(tensor.detach()) for tensor in own]}

    def run(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, _device, _batch = self._built("run")
        self._kept = []
        inputs = self._of(body["entry"])
        outputs, nanoseconds = candidate.run(inputs, bool(body.get("poison")), tensors_of(inputs))
        return {**self._located(candidate, outputs), "ns": nanoseconds}

    def place(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        _candidate, _device, batch = self._built("place")
        self._kept = []
        if not self._settled:
            batch.settle()
            self._settled = True
        return {"bytes": batch.place(body["entries"], self._of)}

    def time(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, device, batch = self._built("time")
        self._kept = []
        call, calls, flush = candidate.module(), body["calls"], bool(body.get("flush"))
        device.set_flags()
        return {"inner_ns": candidate.guarded("run", "time", lambda: batch.time(call, calls, flush))}

    def locate(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        candidate, _device, batch = self._built("locate")
        return self._located(candidate, batch.output(body["entry"]))

    def forget(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        for entry in list(self._inputs) if body.get("all") else body.get("entries", []):
            self._inputs.pop(entry, None)
        return {}

    def clear(self, _body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        _candidate, _device, batch = self._built("clear")
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


def _decoded(tree: Tree, tensors: list[Tensor]) -> list[Any]:
    try:
        return list(decode(tree, tensors))
    except Untransportable as error:
        raise WorkerError("internal", "decode", str(error)) from error


def main(channel: Channel) -> None:
    """Serves until the supervisor closes the channel."""
    keep_freed_memory()
    interpreter.mend()

    def unexpected(error: BaseException, op: str) -> WorkerError:
        return failures.describe(error, "internal", op, lambda name: False)

    serve(channel, Untrusted().handlers(), unexpected)
