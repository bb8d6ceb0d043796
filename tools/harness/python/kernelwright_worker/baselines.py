"""What a candidate has to beat: the module as written, and the module through `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from . import failures, forms
from .channel import WorkerError
from .device import Device
from .outputs import agree
from .reference import Reference

#: CUDA graphs are left out: they would time replays on fixed addresses, and a candidate sees fresh ones.
COMPILE_MODE = "max-autotune-no-cudagraphs"


class Baselines:
    """The callables of the baselines, prepared on demand."""

    def __init__(self, reference: Reference, device: Device) -> None:
        self._reference = reference
        self._device = device
        self._prepared: dict[str, Callable[..., Any]] = {}

    def prepare(self, kind: object, inputs: list[Any], expected: Any) -> int:
        """Builds a baseline and makes its first call; the time of both in nanoseconds.

        An error where it does not run, or gives other outputs than `expected`: those of the module as written, if they are known.
        """
        if kind not in ("eager", "compile"):
            raise WorkerError("internal", "baseline", f"a baseline of kind {kind!r}")
        own = self._reference.copies(inputs)
        self._device.synchronize()
        start = perf_counter_ns()
        try:
            call = self._reference.module if kind == "eager" else self._compiled()
            with torch.no_grad():
                outputs = call(*own)
            self._device.synchronize()
        except Exception as error:
            raise failures.describe(error, "baseline", str(kind), lambda name: name.startswith("kernelwright-problem/")) from error
        nanoseconds = perf_counter_ns() - start
        if kind == "compile" and not agree(self._reference.run(inputs)[0] if expected is None else expected, outputs):
            raise WorkerError("baseline", str(kind), "torch.compile gives other outputs than the module as written")
        self._prepared[str(kind)] = call
        return nanoseconds

    def _compiled(self) -> Callable[..., Any]:
        torch.compiler.reset()
        return forms.compiled(self._reference.module, mode=COMPILE_MODE, dynamic=False)

    def callable(self, kind: object) -> Callable[..., Any]:
        """A prepared baseline."""
        call = self._prepared.get(str(kind))
        if call is None:
            raise WorkerError("baseline", "time", f"the baseline {kind!r} was not prepared")
        return call
