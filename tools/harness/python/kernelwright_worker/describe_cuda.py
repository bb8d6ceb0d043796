"""An NVIDIA GPU: the limits its driver states, and measured bandwidth, matrix rates and launch costs.

The limits come from the driver's attributes, because torch's device properties lack several of them and differ between versions.
Limits: one device at a time, nothing about links to other devices; the rates are torch's own operators', which a kernel may beat.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import time
from pathlib import Path
from typing import Callable

import torch

from .describe import output_of, tool_version
from .figures import Facts, best_seconds, duration, rate, size
from .trees import dtype_name

# Numbers of CUdevice_attribute in cuda.h; they are part of the driver's stable binary interface.
MAX_THREADS_PER_BLOCK = 1
SHARED_MEMORY_PER_BLOCK = 8
CONSTANT_MEMORY = 9
WARP_SIZE = 10
REGISTERS_PER_BLOCK = 12
CLOCK_KHZ = 13
MULTIPROCESSORS = 16
ECC_ENABLED = 32
MEMORY_CLOCK_KHZ = 36
MEMORY_BUS_BITS = 37
L2_BYTES = 38
THREADS_PER_MULTIPROCESSOR = 39
SHARED_MEMORY_PER_MULTIPROCESSOR = 81
REGISTERS_PER_MULTIPROCESSOR = 82
SHARED_MEMORY_PER_BLOCK_OPTIN = 97
BLOCKS_PER_MULTIPROCESSOR = 106
PERSISTING_L2_BYTES = 108
RESERVED_SHARED_MEMORY_PER_BLOCK = 111
CLUSTER_LAUNCH = 120
TENSOR_MAP = 127


def describe_cuda(index: int, software: list[str]) -> dict:
    """The description of the device with this ordinal among the visible ones; takes a few seconds, most of it CUDA's start.

    The device must be current.
    """
    torch.cuda.init()
    properties = torch.cuda.get_device_properties(index)
    facts = Facts()
    _limits(facts, Driver.open(index), (properties.major, properties.minor))
    facts.read("memory", size(properties.total_memory))

    copy = _attempt(lambda: measure_copy(facts, properties))
    products: dict[str, float] = {}
    _attempt(lambda: measure_matmuls(facts, products, properties))
    _attempt(lambda: measure_launches(facts))
    return {
        "name": properties.name,
        "arch": f"sm_{properties.major}{properties.minor}",
        "memory": properties.total_memory,
        "copy_bytes_per_second": copy,
        "matrix_operations_per_second": products,
        "facts": facts.entries,
        "software": software + cuda_software(),
    }


class Driver:
    """The attributes of one device, asked of the CUDA driver itself."""

    def __init__(self, library: ctypes.CDLL, device: ctypes.c_int) -> None:
        self._library = library
        self._device = device

    @classmethod
    def open(cls, index: int) -> Driver | None:
        """The device with this ordinal; CUDA must be initialised. Nothing where the driver cannot be loaded by itself."""
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            return None
        device = ctypes.c_int()
        return cls(library, device) if library.cuDeviceGet(ctypes.byref(device), index) == 0 else None

    def attribute(self, number: int) -> int | None:
        """The attribute's value; nothing where this driver does not know it."""
        value = ctypes.c_int()
        return value.value if self._library.cuDeviceGetAttribute(ctypes.byref(value), number, self._device) == 0 else None

    def version(self) -> str | None:
        """The highest CUDA version the driver supports, e.g. `13.0`."""
        value = ctypes.c_int()
        if self._library.cuDriverGetVersion(ctypes.byref(value)) != 0:
            return None
        return f"{value.value // 1000}.{value.value % 1000 // 10}"


def _limits(facts: Facts, driver: Driver | None, capability: tuple[int, int]) -> None:
    facts.read("compute capability", f"{capability[0]}.{capability[1]}")
    if driver is None:
        return

    def limit(name: str, number: int, words: Callable[[int], str] = str) -> None:
        value = driver.attribute(number)
        # Zero is how the driver says that a device has no such thing.
        facts.read(name, words(value) if value else None)

    limit("multiprocessors", MULTIPROCESSORS)
    limit("clock (maximum)", CLOCK_KHZ, lambda khz: f"{khz / 1000:.0f} MHz")
    limit("memory clock", MEMORY_CLOCK_KHZ, lambda khz: f"{khz / 1000:.0f} MHz")
    limit("memory bus", MEMORY_BUS_BITS, lambda bits: f"{bits} bit")
    limit("L2 cache", L2_BYTES, size)
    limit("persisting L2 (maximum)", PERSISTING_L2_BYTES, size)
    limit("shared memory per multiprocessor", SHARED_MEMORY_PER_MULTIPROCESSOR, size)
    limit("shared memory per block", SHARED_MEMORY_PER_BLOCK, size)
    limit("shared memory per block (opt-in)", SHARED_MEMORY_PER_BLOCK_OPTIN, size)
    limit("shared memory per block (reserved by the driver)", RESERVED_SHARED_MEMORY_PER_BLOCK, size)
    limit("constant memory", CONSTANT_MEMORY, size)
    limit("32-bit registers per multiprocessor", REGISTERS_PER_MULTIPROCESSOR)
    limit("32-bit registers per block", REGISTERS_PER_BLOCK)
    limit("threads per warp", WARP_SIZE)
    limit("threads per block", MAX_THREADS_PER_BLOCK)
    limit("threads per multiprocessor", THREADS_PER_MULTIPROCESSOR)
    threads, warp = driver.attribute(THREADS_PER_MULTIPROCESSOR), driver.attribute(WARP_SIZE)
    facts.read("warps per multiprocessor", threads // warp if threads and warp else None)
    limit("blocks per multiprocessor", BLOCKS_PER_MULTIPROCESSOR)
    for name, number in (("ECC memory", ECC_ENABLED), ("thread block clusters", CLUSTER_LAUNCH), ("tensor memory access", TENSOR_MAP)):
        value = driver.attribute(number)
        facts.read(name, None if value is None else ("on" if value else "off") if number == ECC_ENABLED else ("yes" if value else "no"))


def _attempt(measure: Callable[[], float | None]) -> float | None:
    """A measurement that runs out of memory or meets an unsupported operator leaves its facts absent; the rest still counts."""
    try:
        return measure()
    except RuntimeError:
        torch.cuda.empty_cache()
        return None


def device_seconds(once: Callable[[], object], repeats: int) -> float:
    """The device's own time for one call, averaged over `repeats` queued calls. Seconds."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        once()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


def measure_copy(facts: Facts, properties: object) -> float:
    """Bytes read plus bytes written per second of a large copy on the device, by the device's clock."""
    free, _ = torch.cuda.mem_get_info()
    nbytes = min(max(8 * getattr(properties, "L2_cache_size", 0), 512 << 20), 2 << 30, free // 4)
    source = torch.ones(nbytes // 4, device="cuda")
    destination = torch.empty_like(source)
    device_seconds(lambda: destination.copy_(source), repeats=2)
    seconds = best_seconds(lambda: device_seconds(lambda: destination.copy_(source), repeats=5), budget_s=0.2)
    per_second = 2 * source.nbytes / seconds
    facts.measured("copy bandwidth", f"{rate(per_second, 'B')} read plus written ({size(source.nbytes)} buffers)")
    return per_second


def measure_matmuls(facts: Facts, rates: dict[str, float], properties: object) -> None:
    """The rates of torch's matrix product at the precisions that kernels choose between, each measured for about 0.2 s.

    Those at a dtype's full precision are left in `rates`, also where a later one fails.
    """
    ampere = getattr(properties, "major", 0) >= 8
    before = torch.get_float32_matmul_precision()
    try:
        for name, dtype, precision, supported in (
            ("bfloat16", torch.bfloat16, "highest", ampere),
            ("float16", torch.float16, "highest", True),
            ("TF32", torch.float32, "high", ampere),
            ("float32", torch.float32, "highest", True),
            ("float64", torch.float64, "highest", True),
        ):
            if supported:
                torch.set_float32_matmul_precision(precision)
                per_second, n = matmul_rate(dtype)
                if name == dtype_name(dtype):
                    rates[name] = per_second
                facts.measured(f"{name} matrix product", f"{rate(per_second, 'FLOP')} (torch, {n} x {n}, random data)")
    finally:
        torch.set_float32_matmul_precision(before)


def matmul_rate(dtype: torch.dtype) -> tuple[float, int]:
    """Operations per second and the size they were measured at: the largest that takes no more than about 20 ms a product."""
    n, seconds = 2048, 0.0
    while True:
        # Random data: the clock a chip holds depends on how many bits toggle.
        a, b = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        device_seconds(lambda: torch.mm(a, b, out=out), repeats=1)
        seconds = device_seconds(lambda: torch.mm(a, b, out=out), repeats=2)
        if n >= 8192 or seconds * 8 > 0.02:
            break
        n *= 2
    repeats = max(1, min(20, int(0.03 / seconds)))
    best = best_seconds(lambda: device_seconds(lambda: torch.mm(a, b, out=out), repeats), budget_s=0.15)
    return 2 * n**3 / best, n


def measure_launches(facts: Facts, count: int = 1000) -> None:
    """What a launch costs: alone with a wait for its end, queued back to back, and as a node of a CUDA graph."""
    x = torch.zeros(32, device="cuda")
    for _ in range(100):
        x.add_(1)
    torch.cuda.synchronize()

    def alone() -> None:
        x.add_(1)
        torch.cuda.synchronize()

    def queued() -> float:
        start = time.perf_counter()
        for _ in range(count):
            x.add_(1)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / count

    facts.measured("small torch operator, launched and waited for", duration(best_seconds(alone, budget_s=0.05, at_least=20)))
    facts.measured("small torch operators queued, each", duration(best_seconds(queued, budget_s=0.1)))

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            x.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    seconds = best_seconds(lambda: device_seconds(graph.replay, repeats=1) / count, budget_s=0.05)
    facts.measured("small kernels in a CUDA graph, each", duration(seconds))


def cuda_software() -> list[str]:
    """Versions of the driver, of CUDA as torch was built with it, and of the compilers found."""
    lines = [f"CUDA {torch.version.cuda} (torch)"] if torch.version.cuda else []
    driver = Driver.open(0)
    kernel_module = _kernel_module_version()
    if kernel_module:
        lines.append(f"NVIDIA driver {kernel_module}")
    if driver and (version := driver.version()):
        lines.append(f"CUDA {version} (driver)")
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    nvcc = shutil.which("nvcc") or os.path.join(home, "bin", "nvcc")
    if version := tool_version(nvcc, r"\bV(\d+\.\d+(?:\.\d+)?)"):
        lines.append(f"nvcc {version}")
    return lines


def _kernel_module_version() -> str | None:
    """The driver's version; the file is not visible in every container, nvidia-smi not installed in every other."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        text = ""
    if found := re.search(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b", text):
        return found.group(1)
    text = output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]) or ""
    return text.splitlines()[0].strip() if text.strip() else None
