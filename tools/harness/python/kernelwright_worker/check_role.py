"""The role of a candidate that makes one call while a program around its process looks on, such as compute-sanitizer.

Nothing is read of it and nothing is timed; what is found out is found out by the program.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from . import interpreter
from .channel import Channel, serve
from .layout import fresh_copy
from .untrusted import Untrusted, decoded, unexpected


class Check(Untrusted):
    """The operations up to the call, which are those of an evaluation, and the call."""

    def handlers(self) -> dict[str, Any]:
        """Every operation by name."""
        return {name: self._watched(name, getattr(self, name)) for name in ("build", "construct", "check")}

    def check(self, body: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """One call with inputs of its own, finished when this returns."""
        candidate, device, _batch = self._built("check")
        inputs = decoded(body["inputs"], [fresh_copy(tensor, device.torch) for tensor in self._received(body, fds)])
        candidate.run(inputs, False, [])
        return {}

    def close(self) -> None:
        """Ends the device's context, so that what looks on writes down the last of it: this process leaves without a teardown of its own."""
        if self._device is not None and self._device.is_cuda:
            driver, device = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
            if driver.cuDeviceGet(ctypes.byref(device), self._device.torch.index) == 0:
                driver.cuDevicePrimaryCtxReset_v2(device)


def tune_once() -> None:
    """Has Triton's autotuners run every configuration once: where every access is looked at, measuring takes minutes and says nothing."""
    for name in ("triton.testing", "triton.runtime.autotuner"):
        module = sys.modules.get(name)
        if hasattr(module, "do_bench"):
            module.do_bench = _once


def _once(call: Callable[[], Any], *_bounds: Any, quantiles: Any = None, **_options: Any) -> Any:
    call()
    return [1.0] * len(quantiles) if quantiles else 1.0


def main(channel: Channel) -> None:
    """Serves until the supervisor closes the channel."""
    interpreter.mend()
    tune_once()
    check = Check()
    serve(channel, check.handlers(), unexpected)
    check.close()
