"""What bounds every kernel on a device, and the state the device is in: figures beside a time, taken by the trusted role."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import torch

from . import describe_cpu, describe_cuda
from .device import Device
from .figures import Facts

_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_TEMPERATURE_GPU = 0


def copy_rate(device: Device) -> float:
    """Bytes per second of a large copy, read and written bytes together."""
    if device.is_cuda:
        return describe_cuda.measure_copy(Facts(), torch.cuda.get_device_properties(device.torch))
    return describe_cpu.measure_copy(Facts(), describe_cpu.last_level_bytes(describe_cpu.cache_groups()))


def state(device: Device) -> dict[str, int] | None:
    """Clocks and temperature of an accelerator by its management library; None on the CPU and where there is none."""
    if not device.is_cuda:
        return None
    library = _management()
    uuid = getattr(torch.cuda.get_device_properties(device.torch), "uuid", None)
    if library is None or uuid is None:
        return None
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(handle)) != 0:
        return None

    def read(function: str, *arguments: int) -> int | None:
        value = ctypes.c_uint()
        code = getattr(library, function)(handle, *arguments, ctypes.byref(value))
        return value.value if code == 0 else None

    figures = {
        "clock_mhz": read("nvmlDeviceGetClockInfo", _CLOCK_SM),
        "memory_clock_mhz": read("nvmlDeviceGetClockInfo", _CLOCK_MEMORY),
        "temperature_c": read("nvmlDeviceGetTemperature", _TEMPERATURE_GPU),
    }
    known = {name: value for name, value in figures.items() if value is not None}
    return known if len(known) == len(figures) else None


@cache
def _management() -> Any:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None
