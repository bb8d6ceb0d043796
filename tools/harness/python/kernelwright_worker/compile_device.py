"""A device that is not there: what torch and Triton would say on a part, so that a candidate runs as far as its launches.

Tensors are torch's fake tensors: they have a device, a shape, strides and a storage offset, and no memory. Only what candidates ask about a
device before they launch is answered; work on data (`item`, printing, a C++ call with pointers) is not possible and raises.

Everything is patched for good: this belongs into a process that ends with the compilation.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

#: Where fake memory starts: aligned as the allocator of a device aligns it, so that pointers specialise as real ones do.
_BASE_ADDRESS = 0x7F00_0000_0000
_DEVICE = torch.device("cuda", 0)


class Part:
    """What the supervisor says of a part, in its own words."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.arch: str = fields["arch"]
        self.name: str = fields["name"]
        #: `cuda`, `hip` or `cpu`.
        self.backend: str = fields["backend"]
        self.warp: int = fields["threads_per_warp"]
        self.multiprocessors: int = fields["multiprocessors"]
        self.threads_per_block: int = fields["threads_per_block"]
        self.threads_per_multiprocessor: int = fields["threads_per_multiprocessor"]
        self.registers_per_multiprocessor: int = fields["registers_per_multiprocessor"]
        self.shared_per_block: int = fields["shared_per_block"]
        self.shared_per_multiprocessor: int = fields["shared_per_multiprocessor"]
        self.memory: int = fields["memory"]
        self.l2: int = fields["l2"]

    @property
    def is_gpu(self) -> bool:
        """Whether it launches kernels."""
        return self.backend in ("cuda", "hip")

    @property
    def triton_arch(self) -> int | str:
        """What Triton calls the architecture: 90, or `gfx942`."""
        return int(self.arch.removeprefix("sm_")) if self.backend == "cuda" else self.arch

    @property
    def capability(self) -> tuple[int, int]:
        """As `torch.cuda.get_device_capability` gives it; on AMD the numbers of the architecture's name."""
        if self.backend == "cuda":
            return divmod(int(self.arch.removeprefix("sm_")), 10)
        digits = self.arch.removeprefix("gfx")
        return int(digits[:-2]), int(digits[-2], 16)


class _Utilities:
    """What Triton's drivers call `utils`."""

    def __init__(self, part: Part, counts: dict[str, tuple[int, int]]) -> None:
        self._part = part
        self._counts = counts

    def get_device_properties(self, _device: int) -> dict[str, int]:
        part = self._part
        return {
            "max_shared_mem": part.shared_per_block,
            "max_num_regs": part.registers_per_multiprocessor,
            "multiprocessor_count": part.multiprocessors,
            "warpSize": part.warp,
            "max_threads_per_sm": part.threads_per_multiprocessor,
            # Clocks and bus widths decide about speed, not about code; candidates divide by them.
            "sm_clock_rate": 1_500_000,
            "mem_clock_rate": 2_000_000,
            "mem_bus_width": 5120,
        }

    def load_binary(self, name: str, _binary: bytes, _shared: int, _device: int) -> tuple[None, None, int, int, int]:
        registers, spills = self._counts.get(name, (0, 0))
        return None, None, registers, spills, self._part.threads_per_block

    def unload_module(self, _module: object) -> None:
        return None


class Driver:
    """Triton's driver for a part that is not there. `counts`: registers and spills by kernel, for candidates that read them."""

    def __init__(self, part: Part, counts: dict[str, tuple[int, int]]) -> None:
        self._part = part
        self.utils = _Utilities(part, counts)
        self.launcher_cls = lambda _source, _metadata: lambda *_arguments: None

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda" if self._part.backend == "cuda" else "hip", self._part.triton_arch, self._part.warp)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, _device: int) -> None:
        return None

    def get_current_stream(self, _device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return _DEVICE

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_empty_cache_for_benchmark(self) -> Tensor:
        return torch.empty(1, device=_DEVICE)

    def clear_cache(self, _cache: Tensor) -> None:
        return None

    def get_benchmarker(self) -> Any:
        return lambda _call, quantiles=(0.5,), **_options: [0.0] * len(quantiles)


def pretend(part: Part, counts: dict[str, tuple[int, int]]) -> FakeTensorMode:
    """Makes this process look as if it ran on the part; the mode under which tensors have no memory."""
    import triton

    triton.runtime.driver.set_active(Driver(part, counts))
    patch_torch(part)
    return _Mode(allow_non_fake_inputs=True)


class _Mode(FakeTensorMode):
    @property
    def avoid_device_init(self) -> bool:
        """Leaves the driver alone, although torch says here that there is a device."""
        return True


def patch_torch(part: Part) -> None:
    """Has torch answer what is asked of a device as the part would."""
    properties = types.SimpleNamespace(
        name=part.name,
        major=part.capability[0],
        minor=part.capability[1],
        multi_processor_count=part.multiprocessors,
        total_memory=part.memory,
        warp_size=part.warp,
        L2_cache_size=part.l2,
        max_threads_per_multi_processor=part.threads_per_multiprocessor,
        max_threads_per_block=part.threads_per_block,
        regs_per_multiprocessor=part.registers_per_multiprocessor,
        shared_memory_per_block=min(part.shared_per_block, 48 << 10),
        shared_memory_per_block_optin=part.shared_per_block,
        shared_memory_per_multiprocessor=part.shared_per_multiprocessor,
        gcnArchName=f"{part.arch}:sramecc+:xnack-" if part.backend == "hip" else "",
        is_integrated=0,
        is_multi_gpu_board=0,
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda _device: None,
        "get_device_name": lambda _device=None: part.name,
        "get_device_capability": lambda _device=None: part.capability,
        "get_device_properties": lambda _device=None: properties,
        "get_arch_list": lambda: [part.arch],
        "is_bf16_supported": lambda including_emulation=True: True,
        "synchronize": lambda _device=None: None,
        "empty_cache": lambda: None,
        "mem_get_info": lambda _device=None: (part.memory, part.memory),
        "current_stream": lambda _device=None: _Stream(),
        "default_stream": lambda _device=None: _Stream(),
        "device": lambda _device=None: contextlib.nullcontext(),
        "device_of": lambda _tensor=None: contextlib.nullcontext(),
        "stream": lambda _stream=None: contextlib.nullcontext(),
        "Stream": _Stream,
        "Event": _Event,
        "manual_seed": lambda _seed: None,
        "manual_seed_all": lambda _seed: None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    if part.backend == "hip":
        torch.version.hip, torch.version.cuda = torch.version.hip or "7.0", None
    # Some versions of torch open the device for the first fake tensor on it, whatever the mode says.
    fake_tensor.init_gpu_context = lambda _device: None
    FakeTensor.data_ptr = _data_ptr
    nn.Module._apply = _apply


class _Stream:
    cuda_stream = 0
    device = _DEVICE

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        pass

    def __getattr__(self, _name: str) -> Any:
        return lambda *_arguments, **_options: None

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_error: object) -> None:
        return None


class _Event(_Stream):
    def elapsed_time(self, _end: object) -> float:
        return 1.0


def _data_ptr(self: Tensor) -> int:
    """As divisible as the real address would be: allocations are aligned, views start where they start."""
    return _BASE_ADDRESS + self.storage_offset() * self.element_size()


def _apply(self: nn.Module, function: Any, recurse: bool = True) -> nn.Module:
    """`Module.to` and its like, by replacing: fake parameters cannot be moved in place."""
    if recurse:
        for child in self.children():
            child._apply(function)
    for name, parameter in self._parameters.items():
        if parameter is not None:
            self._parameters[name] = nn.Parameter(function(parameter.detach()), parameter.requires_grad)
    for name, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[name] = function(buffer)
    return self


def move(module: Any) -> Any:
    """The module on the part, in eval mode, as an evaluation has it."""
    return module.eval().to(_DEVICE) if isinstance(module, nn.Module) else module


def place(value: Tensor) -> Tensor:
    """A tensor on the part."""
    return value.to(_DEVICE)
