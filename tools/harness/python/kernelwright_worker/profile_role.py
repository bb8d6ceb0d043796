"""The profile worker: describes a target, or profiles one module. Its figures inform; they decide nothing.

Started for the machine itself, for a problem, or confined for a problem with a candidate; the operations are the same. A module is loaded once
and then asked about: the supervisor may count from outside, or have another profiler around this process, while only its calls are made.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from . import extension_build, failures, machine_code, proton_profile
from .channel import Channel, WorkerError, serve
from .describe import describe
from .device import Device, keep_freed_memory
from .repeated import Repeated
from .subject import Subject, load_subject
from .torch_profile import show_foreign_calls, trace


class _Profile:
    def __init__(self) -> None:
        self._subject: Subject | None = None
        self._repeated: Repeated | None = None
        self._libraries: set[str] = set()

    def handlers(self) -> dict[str, Callable[[dict[str, Any], list[int]], dict[str, Any]]]:
        """The operations by name."""
        return {"open": _open, "describe": _describe, "load": self.load, "work": self.work, "run": self.run, "trace": self.trace, "code": self.code, "range": self.range, "proton": self.proton}

    def load(self, request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        device = _device(request)
        if not device.is_cuda:
            show_foreign_calls()
        self._libraries = machine_code.mapped_libraries()
        if arch := request.get("cuda_arch"):
            os.environ["TORCH_CUDA_ARCH_LIST"] = arch
        if built := request.get("built"):
            extension_build.use_built(built)
        self._subject = load_subject(request["problem"], request.get("candidate"), device, int(request.get("seed", 0)))
        self._repeated = Repeated(self._subject.call, device.torch)
        return {"calls": self._repeated.calls, "input_sets": self._subject.input_sets}

    def work(self, _request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        if self._subject is None:
            raise _nothing("work")
        return {"work": self._subject.work()}

    def run(self, _request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        calls = self._loaded("run").time()
        return {"calls": calls, "wall_per_call_ns": self._loaded("run").wall_ns}

    def trace(self, _request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return trace(self._loaded("trace"))

    def code(self, _request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return machine_code.describe(self._libraries)

    def range(self, _request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """One call between the marks that Nsight Compute counts between; it runs each kernel several times by itself."""
        repeated = self._loaded("range")
        repeated.synchronize()
        torch.cuda.profiler.start()
        try:
            repeated.call()
            repeated.synchronize()
        finally:
            torch.cuda.profiler.stop()
        return {"calls": 1}

    def proton(self, _request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        return proton_profile.record(self._loaded("proton"))

    def _loaded(self, op: str) -> Repeated:
        if self._repeated is None:
            raise _nothing(op)
        return self._repeated


def main(channel: Channel) -> None:
    """Answers requests until the supervisor closes the channel."""
    serve(channel, _Profile().handlers(), _unexpected)


def _describe(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    return describe(_device(request))


def _open(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    """Opens the device and imports what most candidates do, ahead of one: inside a profiler both take seconds."""
    torch.empty(1, device=_device(request).torch)
    with suppress(ImportError):
        importlib.import_module("triton.language")
    return {}


def _device(request: dict[str, Any]) -> Device:
    """The device, set up as the evaluation sets it up, so that a profile shows the kernels that are timed there."""
    device = Device(request["device"])
    device.configure(request.get("threads"), request.get("policy"))
    if not device.is_cuda:
        keep_freed_memory()
    return device


def _nothing(op: str) -> WorkerError:
    return WorkerError("internal", op, "nothing is loaded")


def _unexpected(error: BaseException, op: str) -> WorkerError:
    return WorkerError("internal", op, f"{type(error).__name__}: {failures.text_of(error)}", traceback.format_exc())
