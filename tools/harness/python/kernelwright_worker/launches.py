"""What ran during one call of a candidate, and what share of its time torch's own operators and kernels had.

It informs: a candidate that only wraps the library, or runs a kernel whose result it ignores beside the library's, is told apart from one
that does the work. What runs in a candidate's process can deceive it, so no verdict rests on it.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import cupti
from .device import Device

#: Kernels of torch and of the libraries it calls, copies and fills, and what torch.compile generates.
_LIBRARY_KERNEL = re.compile(
    r"at::|at_cuda|c10::|cub::|thrust::|cublas|cudnn|cutlass|cufft|cusparse|cusolver|magma|nvjet|xmma|pytorch_flash|flash_fwd|flash_bwd|fmha_cutlass"
    r"|(ampere|volta|turing|hopper|maxwell|sm\d+)_\w*(gemm|conv|fprop|dgrad|wgrad|gemv)|gemv|gemmk1|gemmSN|splitKreduce|dot_kernel|reduce_1Block"
    r"|implicit_convolve|winograd|^Memcpy|^Memset|triton_(poi|red|per|tem|mm|bmm|conv)\w*(fused)?|vectorized_elementwise|elementwise_kernel"
)
_MOST_KERNELS = 8
_CALLS = 7
_NOTHINGS = 20


def trace(device: Device, call: Callable[[], Any]) -> dict[str, Any]:
    """Makes the call a few times more: `kernels` [{name, share, library}], `library_share` (null: unknown) and `foreign`, the native code it brought."""
    device.synchronize()
    kernels = _device_kernels(device, call) if device.is_cuda else None
    if kernels is None:
        kernels = _operators(device, call)
    total = sum(nanoseconds for _name, nanoseconds, _library in kernels)
    ranked = sorted(kernels, key=lambda kernel: -kernel[1])[:_MOST_KERNELS]
    share = sum(nanoseconds for _name, nanoseconds, library in kernels if library) / total if total else None
    return {
        "kernels": [{"name": name, "share": nanoseconds / total, "library": library} for name, nanoseconds, library in ranked if total],
        "library_share": share,
        "foreign": foreign_code(),
    }


class _Clocked(TorchDispatchMode):
    """Times every operator from outside, with the device idle before and after it."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device
        self.times: dict[str, int] = defaultdict(int)
        self.counts: dict[str, int] = defaultdict(int)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise the first operator imports all of torch.compile, which takes longer than everything else here.
        return False

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        self._device.synchronize()
        start = perf_counter_ns()
        result = function(*arguments, **(keywords or {}))
        self._device.synchronize()
        name = str(function)
        self.times[name] += perf_counter_ns() - start
        self.counts[name] += 1
        return result


def _operators(device: Device, call: Callable[[], Any]) -> list[tuple[str, int, bool]]:
    """torch's operators by time, and everything else the call did."""
    # The quickest of a few: the first one sets up what clocks the others.
    clocked, total = min((_clocked(device, call) for _ in range(_CALLS)), key=lambda measured: measured[1])
    # What it costs to clock an operator is nobody's time.
    idle, around = min((_clocked(device, _nothing) for _ in range(_CALLS)), key=lambda measured: measured[1])
    total -= sum(clocked.counts.values()) * (around - sum(idle.times.values())) // _NOTHINGS
    # Operators of other namespaces are the candidate's own, however they are registered.
    found = [(name, nanoseconds, name.startswith(("aten.", "prims.", "mkldnn."))) for name, nanoseconds in clocked.times.items()]
    return [*found, ("(outside torch)", max(0, total - sum(clocked.times.values())), False)]


def _nothing() -> None:
    for _ in range(_NOTHINGS):
        torch.empty(0)


def _clocked(device: Device, call: Callable[[], Any]) -> tuple[_Clocked, int]:
    clocked = _Clocked(device)
    with torch.no_grad(), clocked:
        start = perf_counter_ns()
        call()
        device.synchronize()
        return clocked, perf_counter_ns() - start


def _device_kernels(device: Device, call: Callable[[], Any]) -> list[tuple[str, int, bool]] | None:
    """The device's kernels by time; None where the driver's tracing is not to be had."""

    def finished() -> None:
        with torch.no_grad():
            call()
        device.synchronize()

    times: dict[str, int] = defaultdict(int)
    try:
        for name, nanoseconds in cupti.activities(finished):
            times[name] += nanoseconds
    except cupti.Unavailable:
        return None
    return [(name, ns, _LIBRARY_KERNEL.search(name) is not None) for name, ns in times.items()] or None


def foreign_code() -> list[str]:
    """Native code of this process that came neither with Python nor with torch: libraries built by the candidate, and just-in-time compilers."""
    own = tuple(os.path.realpath(path) + os.sep for path in (os.environ.get("HOME"), os.environ.get("TMPDIR")) if path)
    generated = os.path.realpath(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "/nonexistent")) + os.sep
    found = set()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            parts = line.rstrip("\n").split(maxsplit=5)
            if len(parts) == 6 and "x" in parts[1] and parts[5].startswith(own) and not parts[5].startswith(generated):
                found.add(os.path.basename(parts[5]))
    found.update(name for name in ("numba", "cupy", "pycuda", "cuda.core", "cutlass", "taichi") if name in sys.modules)
    found.update(_triton_kernels())
    # To look for these takes a while, so only where nothing else was found.
    return sorted(found or _run_time_kernels())


def _triton_kernels() -> list[str]:
    """Triton kernels of the candidate that were compiled: functions of its modules, not those of torch.compile."""
    jit = sys.modules.get("triton.runtime.jit")
    module = sys.modules.get("kernelwright_candidate")
    if jit is None or module is None:
        return []
    names = []
    for name, value in vars(module).items():
        while hasattr(value, "fn") and not isinstance(value, jit.JITFunction):
            value = value.fn
        if isinstance(value, jit.JITFunction):
            names.append(f"triton: {name}")
    return names


def _run_time_kernels() -> set[str]:
    """What was compiled through `torch.cuda._compile_kernel` and is still there: it leaves no file, and may be kept anywhere."""
    utils = sys.modules.get("torch.cuda._utils")
    kinds = tuple(kind for kind in (getattr(utils, "_CudaKernel", None), getattr(utils, "_CudaModule", None)) if isinstance(kind, type))
    if not kinds:
        return set()
    # What was there before the first batch was told to the collector as what stays: it does not list that.
    gc.unfreeze()
    return {"torch.cuda._compile_kernel"} if any(type(thing) in kinds for thing in gc.get_objects()) else set()
