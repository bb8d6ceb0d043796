"""Mends what Triton's interpreter (`TRITON_INTERPRET=1`) gets wrong on a machine without a GPU, so that its verdicts on correctness hold.

It checks correctness only: nothing here makes a time mean anything. Where a version of Triton has no such part, it is left as it is.
"""

from __future__ import annotations

import os
from typing import Any


def mend() -> None:
    """Patches Triton where it is interpreting; nothing otherwise. To be called after triton was imported, before a candidate is."""
    if os.environ.get("TRITON_INTERPRET", "0").lower() not in ("1", "true", "on", "yes"):
        return
    try:
        _skip_autotuning()
        _widen_bfloat16_dots()
    except (ImportError, AttributeError):
        pass


def _skip_autotuning() -> None:
    """The first configuration is taken: measuring needs a driver, and none of them is faster here."""
    from triton.runtime.autotuner import Autotuner

    def prune_configs(self: Any, _arguments: Any) -> list[Any]:
        return self.configs[:1]

    def bench(_self: Any, *_arguments: Any, **_meta: Any) -> list[float]:
        return [0.0, 0.0, 0.0]

    Autotuner.prune_configs = prune_configs
    Autotuner._bench = bench


def _widen_bfloat16_dots() -> None:
    """The interpreter holds bfloat16 as 16-bit integers and multiplies those; as float32 the products are what the hardware accumulates."""
    import numpy
    import triton.language as tl
    from triton.runtime import interpreter

    original = interpreter.InterpreterBuilder.create_dot

    def widened(handle: Any) -> Any:
        if handle.dtype.scalar != tl.bfloat16:
            return handle
        data = (handle.data.astype(numpy.uint32) << 16).view(numpy.float32)
        return interpreter.TensorHandle(data, tl.float32)

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return original(self, widened(a), widened(b), *rest)

    interpreter.InterpreterBuilder.create_dot = create_dot
