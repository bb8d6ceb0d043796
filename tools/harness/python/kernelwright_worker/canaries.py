"""What a call writes outside of the memory that it was given.

On a GPU torch's allocator keeps what is freed, and hands it out in blocks that are larger than was asked for: who writes beyond the end of an allocation mostly meets
nothing there, and results are right. So everything that the allocator keeps for the caller's stream is filled with a pattern before a call, and its own history
of the call tells afterwards what was handed out: the rest has to be as it was.

On the host malloc's blocks are a few bytes longer than was asked for, which it fills with a pattern as the rest while memory is poisoned; whoever writes beyond
those meets what malloc needs itself, and is found out. What malloc sets aside for the next request of a size it hands out as it is, so a worker's sets nothing
aside (`worker/launch.rs`). It is tried first whether that holds, which with other versions of the C library it may not; if not, nothing is said.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from . import dlpack
from .device import CUDA_POISON_BYTE, POISON_BYTE, Device
from .layout import ordinary_tensors

#: Calls that are looked at: the first one compiles and tunes.
_LOOKED_AT = (2, 3)
#: No more pieces of memory are looked at, and no longer a history is read.
_MOST_PIECES, _MOST_ENTRIES = 256, 4096
#: Of a piece so many bytes at either end are looked at: what lies further from all that was handed out is hardly met.
_NEAR_BYTES = 64 << 10
#: The supervisor knows it by this beginning (`verdict.rs`).
_OVERRUN = "a kernel writes where it has no memory"
#: How the history calls it when memory goes back to the driver, which may give it to anybody.
_GIVEN_BACK = ("segment_free", "segment_unmap")

#: Behind a block of the host so many bytes are looked at, and of blocks of these sizes it is tried what lies there.
_BEHIND_BYTES, _TRIED = 16, (20, 100, 1024, 4096, 100_003, 1 << 18)

_Range = tuple[int, int]

# Bound before any candidate is imported.
_memory_snapshot = getattr(torch._C, "_cuda_memorySnapshot", None)
_record_history = getattr(torch.cuda.memory, "_record_memory_history", None)
_over, _ordinary_tensors = dlpack.over, ordinary_tensors
_libc = ctypes.CDLL(None)
_usable = getattr(_libc, "malloc_usable_size", None)
if _usable is not None:
    _usable.restype, _usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
_malloc, _free = _libc.malloc, _libc.free
_malloc.restype, _malloc.argtypes, _free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
_bytes_at, _fill_at = ctypes.string_at, ctypes.memset


class Canaries:
    """Looks at one call at a time, as far as the allocator tells what it does. Memory is poisoned meanwhile, and was while the module was built."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._calls = 0
        self._kept: list[_Range] = []
        #: Whether it is known what lies behind blocks of the host; None until it was tried.
        self._is_known: bool | None = None

    def before_call(self) -> None:
        """Fills what the allocator keeps, and has it note what it hands out."""
        self._calls += 1
        self._kept = []
        if not self._device.is_cuda or self._calls not in _LOOKED_AT:
            return
        try:
            self._kept = list(_kept_by_allocator(_memory_snapshot(None), torch.cuda.current_stream(self._device.torch).cuda_stream))
            if len(self._kept) > _MOST_PIECES:
                self._kept = []
            if self._kept:
                _record_history("all", None, max_entries=_MOST_ENTRIES)
        except (AttributeError, KeyError, TypeError, RuntimeError):
            self._kept = []
        for start, end in self._kept:
            _over(start, end - start, self._device.torch).fill_(CUDA_POISON_BYTE)
        self._device.synchronize()

    def overrun(self, outputs: Any) -> str | None:
        """What the call has written where nothing was handed out, asked once the device has finished."""
        if not self._device.is_cuda:
            if self._is_known is None:
                self._is_known = _knows_what_lies_behind()
            return next(filter(None, map(_behind, _ordinary_tensors(outputs))), None) if self._is_known else None
        if not self._kept:
            return None
        kept, self._kept = self._kept, []
        try:
            return self._overrun_of(kept)
        except (AttributeError, KeyError, TypeError, RuntimeError):
            return None
        finally:
            _record_history(None)

    def _overrun_of(self, kept: Sequence[_Range]) -> str | None:
        given = _handed_out()
        pieces = [] if given is None else list(_without(kept, given))
        if len(pieces) > _MOST_PIECES:
            return None
        written = next((found for start, end in pieces if (found := _first_written(start, end, self._device.torch)) is not None), None)
        if written is None:
            return None
        # A thread of the candidate's that is still at work may have been given it since.
        given = _handed_out()
        if given is None or any(start <= written < end for start, end in given):
            return None
        return _told(written, given)


def _kept_by_allocator(snapshot: dict[str, Any], stream: int) -> Iterator[_Range]:
    """Free memory that a call on this stream may be given; not that of graphs, which keep it to themselves, nor what may be unmapped any time."""
    for segment in snapshot["segments"]:
        if segment["stream"] == stream and tuple(segment["segment_pool_id"]) == (0, 0) and not segment.get("is_expandable"):
            for block in segment["blocks"]:
                if block["state"] == "inactive":
                    yield block["address"], block["address"] + block["size"]


def _handed_out() -> list[_Range] | None:
    """What the history of the call that is looked at says was handed out; None where it tells no end of it."""
    history = [entry for trace in _memory_snapshot(None)["device_traces"] for entry in trace]
    return _given(history) if len(history) < _MOST_ENTRIES else None


def _given(history: Iterable[dict[str, Any]]) -> list[_Range] | None:
    """What was handed out, as far as it was asked for, in order of addresses; None where memory went back to the driver."""
    given = []
    for entry in history:
        if entry["action"] in _GIVEN_BACK:
            return None
        if entry["action"] == "alloc":
            given.append((entry["addr"], entry["addr"] + entry["size"]))
    return sorted(given)


def _without(ranges: Sequence[_Range], taken: Sequence[_Range]) -> Iterator[_Range]:
    """The parts of ranges that are not covered by what is taken, which is in order."""
    for start, end in ranges:
        for first, last in taken:
            if last <= start or first >= end:
                continue
            if first > start:
                yield start, first
            start = max(start, last)
        if start < end:
            yield start, end


def _first_written(start: int, end: int, device: torch.device) -> int | None:
    """The first address near the ends of a range that holds something else than it was filled with."""
    parts = [(start, end)] if end - start <= 2 * _NEAR_BYTES else [(start, start + _NEAR_BYTES), (end - _NEAR_BYTES, end)]
    for first, last in parts:
        # Compared on the host: kernels for it would have to be loaded, which takes longer than copies do.
        written = (_over(first, last - first, device).cpu() != CUDA_POISON_BYTE).nonzero()
        if written.numel():
            return first + int(written[0])
    return None


def _knows_what_lies_behind() -> bool:
    """Whether malloc fills all of a block, also of one that was there before."""
    if _usable is None:
        return False
    for nbytes in _TRIED:
        if _sets_aside(nbytes):
            return False
        for _ in range(2):
            tensor = torch.empty(nbytes, dtype=torch.uint8)
            if _behind(tensor) is not None:
                return False
            _fill_at(tensor.data_ptr(), 0, _usable(tensor.data_ptr()))
            del tensor
    return True


def _sets_aside(nbytes: int) -> bool:
    """Whether a block that was freed is handed out again as it is. Memory of tensors seldom is, as it begins at multiples of 64, and then by chance."""
    for _ in range(2):
        block = _malloc(nbytes)
        is_filled = _bytes_at(block, nbytes) == bytes([POISON_BYTE]) * nbytes
        _fill_at(block, 0, nbytes)
        _free(block)
    return not is_filled


def _behind(tensor: Tensor) -> str | None:
    """What was written right behind the memory of a tensor, where that is a block of malloc's."""
    storage = tensor.untyped_storage()
    if tensor.device.type != "cpu" or not storage.resizable() or storage.is_shared():
        return None
    address, nbytes = storage.data_ptr(), storage.nbytes()
    if not address or not nbytes:
        return None
    room = _usable(address) - nbytes
    behind = _bytes_at(address + nbytes, min(max(room, 0), _BEHIND_BYTES))
    # Where less is left than was asked for, what malloc keeps in front of the next block is gone.
    written = 0 if room < 0 else next((place for place, byte in enumerate(behind) if byte != POISON_BYTE), None)
    return None if written is None else f"{_OVERRUN}, {written} bytes behind the end of an output of {nbytes} bytes"


def _told(written: int, given: Sequence[_Range]) -> str:
    before = [(start, end) for start, end in given if end <= written]
    if before:
        start, end = max(before, key=lambda range_: range_[1])
        where = f"{written - end} bytes behind the end of {end - start} bytes that were allocated in the call"
    else:
        where = "in what was not allocated in the call"
    return f"{_OVERRUN}, {where}; the deep check tells which one"
