"""The device a worker runs on: where tensors go, when work is finished, the flags both sides share, and what freed memory holds."""

from __future__ import annotations

import ctypes
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .tolerance import Precision

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_PERTURB = -1, -4, -6
#: What memory holds that malloc hands out, or took back, while poison is asked for: malloc wants complements, and both are far from
#: small floats and no valid bool.
POISON_BYTE, POISON_FREED_BYTE = 0x44, 0xBB
#: Device memory is poisoned with NaN of every floating type.
CUDA_POISON_BYTE = 0xFF
_SMALL_BLOCK, _SMALL_BLOCKS = 512 << 10, 64
_MIN_POISON = 64 << 20
_DEFAULT_L2 = 64 << 20
#: A process keeps much of a GPU's memory above one part of it in so many.
_MUCH = 16

_FLAGS = (
    "cuda.matmul.allow_tf32",
    "cudnn.allow_tf32",
    "cuda.matmul.allow_fp16_accumulation",
    "cuda.matmul.fp32_precision",
    "cudnn.conv.fp32_precision",
    "mkldnn.matmul.fp32_precision",
    "mkldnn.conv.fp32_precision",
)

#: What these say where TF32 may be used.
_ALLOWING = (True, "tf32", "high", "medium")

_libc = ctypes.CDLL(None)

#: The number of the only GPU that this process sees, once others are hidden.
_shown: list[int] = []


def keep_freed_memory() -> None:
    """Makes malloc keep what is freed, in one heap: page faults on fresh outputs would otherwise outweigh the kernels.

    Both sides do it, so that a candidate gains nothing from keeping memory by itself. Without glibc nothing changes.
    """
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_MMAP_MAX, 0)
        _libc.mallopt(_M_TRIM_THRESHOLD, -1)


class Device:
    """`cpu` or one CUDA device, with the operations both roles need; with `alone`, the only one that this process will ever see."""

    def __init__(self, name: object, *, alone: bool = False) -> None:
        try:
            device = torch.device(str(name))
        except RuntimeError as error:
            raise WorkerError("device", "device", f"no device {name!r}: {error}") from error
        if device.type not in ("cpu", "cuda"):
            raise WorkerError("device", "device", f"device {name!r} is neither cpu nor cuda")
        self.is_cuda = device.type == "cuda"
        #: Set when memory was given back that calls may need again.
        self.gave_back = False
        if self.is_cuda:
            number = device.index or 0
            device = torch.device("cuda", _show_only(number) if alone else number)
            count = torch.cuda.device_count() if torch.cuda.is_available() else 0
            if device.index >= count:
                raise WorkerError("device", "device", f"no device cuda:{number}: torch sees no GPU of that number")
            torch.cuda.set_device(device)
        self.torch = device
        self._threads: int | None = None
        self._tf32 = False
        self._flags: dict[str, object] = {}
        self._changed_flags: set[str] = set()
        self._flush_buffer: Tensor | None = None
        self._is_heap_poisoned = False
        if self.is_cuda:
            # The extension's own, bound now: a candidate that replaces them only changes its own calls. `torch.cuda.synchronize` would look up
            # others each time it is called.
            self._exchange_device, self._wait_for_device = torch._C._cuda_exchangeDevice, torch._C._cuda_synchronize

    def configure(self, threads: object, policy: dict[str, Any] | None) -> None:
        """Takes over threads and precision flags, the same on both sides, and sets them."""
        self._threads = threads if isinstance(threads, int) and threads > 0 else None
        self._tf32 = bool((policy or {}).get("tf32", False))
        self.set_flags()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Leaves operators to one thread meanwhile: on small tensors waking others takes longer than the work."""
        torch.set_num_threads(1)
        try:
            yield
        finally:
            self._set_threads()

    def _set_threads(self) -> None:
        if self._threads is not None:
            torch.set_num_threads(self._threads)

    def set_flags(self) -> None:
        """Sets threads and precision flags again, after code ran that may have changed them."""
        self._set_threads()
        tf32 = self._tf32
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        self._flags = _precision_flags()

    def takes_over_tf32(self) -> bool:
        """Whether the problem's own code, which ran since `set_flags`, has turned TF32 on for a GPU: its policy then allows that, to both sides. Threads and
        flags are set again, whatever it has changed."""
        flags = {name: value for name, value in _precision_flags().items() if name.endswith(("_tf32", "_precision"))}
        turned_on = self.is_cuda and any(value in _ALLOWING and self._flags.get(name) not in _ALLOWING for name, value in flags.items())
        self._tf32 = self._tf32 or turned_on
        self.set_flags()
        return turned_on

    def note_flags(self) -> None:
        """Compares the precision flags with what `set_flags` has left, after code ran that may have changed them."""
        if not self._tf32:
            now = _precision_flags()
            self._changed_flags.update(name for name, value in self._flags.items() if now.get(name) != value)

    def changed_flags(self) -> list[str]:
        """The precision flags that a call has changed, though the policy allows nothing below float32."""
        return sorted(self._changed_flags)

    @property
    def precision(self) -> Precision:
        """What the policy allows for float32 results."""
        return Precision.TF32 if self._tf32 else Precision.FULL

    def synchronize(self) -> None:
        """Returns when all work submitted to the device is done."""
        if self.is_cuda:
            current = self._exchange_device(self.torch.index)
            try:
                self._wait_for_device()
            finally:
                self._exchange_device(current)

    def free_memory(self) -> int | None:
        """Bytes of device memory that nobody uses; `None` on the CPU, whose memory everything shares."""
        return torch.cuda.mem_get_info(self.torch)[0] if self.is_cuda else None

    def is_short(self, little: int) -> bool:
        """Whether less than one part of a GPU's memory in `little` is free."""
        if not self.is_cuda:
            return False
        free, total = torch.cuda.mem_get_info(self.torch)
        return free < total // little

    def make_room(self, little: int) -> None:
        """Gives back memory that torch only keeps, where it is much of a GPU of which less than one part in `little` is free: the other process
        needs room too."""
        if self.is_short(little) and self.keeps(_MUCH):
            torch.cuda.empty_cache()
            self.gave_back = True

    def make_all_room(self) -> None:
        """The same however much is left, where it is a large part of the GPU's."""
        if self.keeps(_MUCH):
            torch.cuda.empty_cache()

    def give_all_back(self) -> None:
        """Keeps nothing: whatever comes next here begins anew."""
        torch.cuda.empty_cache()
        self.gave_back = True

    def keeps(self, part: int) -> bool:
        """Whether torch keeps more of a GPU's memory, without need, than one part in `part`."""
        if not self.is_cuda:
            return False
        kept = torch.cuda.memory_reserved(self.torch) - torch.cuda.memory_allocated(self.torch)
        return kept > torch.cuda.mem_get_info(self.torch)[1] // part

    def poison(self, like: list[Tensor]) -> None:
        """Fills freed memory with a pattern, so that an output element nobody writes is seen. `unpoison` ends it on the CPU.

        `like` are the inputs: on a GPU blocks up to a few times their size are filled and given back to torch's allocator.
        """
        if not self.is_cuda:
            self.poison_heap()
            return
        wanted = max(_MIN_POISON, 2 * sum(tensor.numel() * tensor.dtype.itemsize for tensor in like))
        free, _total = torch.cuda.mem_get_info(self.torch)
        blocks = [torch.full((_SMALL_BLOCK,), CUDA_POISON_BYTE, dtype=torch.uint8, device=self.torch) for _ in range(_SMALL_BLOCKS)]
        blocks.append(torch.full((min(wanted, free // 4),), CUDA_POISON_BYTE, dtype=torch.uint8, device=self.torch))
        self.synchronize()
        blocks.clear()

    def poison_heap(self) -> None:
        """On the CPU, what malloc hands out from here on is filled, until `unpoison`."""
        self._set_perturb(POISON_FREED_BYTE)

    def unpoison(self) -> None:
        """Ends poisoning on the CPU; freed device memory keeps its pattern."""
        if self._is_heap_poisoned:  # it tidies up malloc's lists as well, which no batch of calls should begin with
            self._set_perturb(0)

    def _set_perturb(self, byte: int) -> None:
        if not self.is_cuda and hasattr(_libc, "mallopt"):
            _libc.mallopt(_M_PERTURB, byte)
            self._is_heap_poisoned = byte != 0

    def flush_cache(self) -> None:
        """Drives everything out of the L2 cache of a GPU by writing twice its size. Nothing on the CPU, where both sides place fresh inputs."""
        if not self.is_cuda:
            return
        if self._flush_buffer is None:
            size = getattr(torch.cuda.get_device_properties(self.torch), "L2_cache_size", 0) or _DEFAULT_L2
            self._flush_buffer = torch.empty(2 * size, dtype=torch.uint8, device=self.torch)
        self._flush_buffer.zero_()
        self.synchronize()


def _show_only(number: int) -> int:
    """Hides all other GPUs from this process, before CUDA looks for any: a candidate could have another one do part of its work, and CUDA takes the longer
    to start the more it sees. Returns the number that this one has then: its own where CUDA had looked before, so that none is taken for another."""
    if not _shown:
        listed = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = None if listed is None else listed.split(",")
        os.environ["CUDA_VISIBLE_DEVICES"] = str(number) if names is None else names[number] if number < len(names) else ""
        _shown.append(number)
    if _shown != [number]:
        raise WorkerError("internal", "device", f"this process sees cuda:{_shown[0]} alone, and is asked for cuda:{number}")
    # What CUDA itself has found: torch's own count follows the variable at any time.
    return number if torch.cuda.is_available() and torch._C._cuda_getDeviceCount() > 1 else 0


def _precision_flags() -> dict[str, object]:
    """The flags by which float32 work may be done in less. One that this version of torch does not have, or refuses to tell, is left out."""
    flags: dict[str, object] = {"torch.get_float32_matmul_precision": torch.get_float32_matmul_precision()}
    for name in _FLAGS:
        owner: object = torch.backends
        *path, last = name.split(".")
        try:
            for part in path:
                owner = getattr(owner, part)
            flags[f"torch.backends.{name}"] = getattr(owner, last)
        except (AttributeError, RuntimeError):
            continue
    return flags


def seed_all(seed: int) -> None:
    """Seeds every generator that a problem or a candidate is likely to use."""
    seed &= (1 << 64) - 1
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)
