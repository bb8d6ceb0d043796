"""Memory that inputs of timed calls are written into, batch after batch.

How far an input lies from an output, counted from page to page, decides a third of the time of a kernel that streams through both: a load waits
for a store whose address differs from its own by whole pages. An allocator that is asked for the same sizes again gives all calls of a process
the same distance, and the next process another one. So every call's inputs begin somewhere else in their pages, at places that are the same
on both sides and in every process: each batch sees them all.
"""

from __future__ import annotations

import mmap
import os
import random
import threading

import torch
from torch import Tensor

from .layout import ALIGNMENT, GUARD, fresh_copy, skew_of, window_of

# Bound before a candidate could put another in its place, whose memory is shared.
_mmap = mmap.mmap

_PAGE = 4096
#: Where windows begin in their pages: every multiple of what torch aligns to, in an order without a step that an allocator could have too.
_STARTS = random.Random(0).sample(range(0, _PAGE, ALIGNMENT), _PAGE // ALIGNMENT)
#: Tensors of one call begin at places that are this far from each other in that order.
_APART = 23
#: Of the thread that touches memory ahead, and bytes that it does at once.
_NICENESS = 10
_PIECE = 64 << 20
#: Bytes on the host that are kept for the next batches: to make so many pages anew takes longer than all else of the first one.
_KEPT = 256 << 20


def touch(memory: Tensor) -> Tensor:
    """Writes to every page of bytes on the host, and gives them back."""
    memory[::_PAGE].fill_(GUARD)
    memory[-1:].fill_(GUARD)
    return memory


class Foreseen:
    """Memory on the host that a thread of its own touches while compilers work: pages are made when they are touched, and a virtual machine may have to
    ask its host for each. Part of it is for rooms; the rest is the heap's, from which outputs come."""

    def __init__(self, rooms: int, outputs: int) -> None:
        self._mapping, self._used = _mapping(max(rooms, _PAGE)), 0
        self._heap: Tensor | None = torch.empty(outputs, dtype=torch.uint8)
        self._thread = threading.Thread(target=self._touch, args=(self._heap,), daemon=True)
        self._thread.start()

    def _touch(self, heap: Tensor) -> None:
        # Of this thread alone: compilers come first.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        for memory in (torch.frombuffer(self._mapping, dtype=torch.uint8), heap):
            # In pieces that torch leaves to this thread.
            for piece in memory.split(_PIECE):
                touch(piece)

    def wait(self) -> None:
        """Returns when all is touched, and gives the heap its part."""
        self._thread.join()
        self._heap = None

    def take(self, nbytes: int) -> tuple[mmap.mmap, int] | None:
        """So many bytes of whole pages that nobody else has, as a mapping and where in it they begin; none where there are not as many left."""
        start = self._used
        if start + nbytes > len(self._mapping):
            return None
        self._used += nbytes
        return self._mapping, start


class Rooms:
    """Windows for the inputs of calls, of which every page is there, for as many calls as the longest batch has had."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._calls: list[list[Tensor]] = []
        self._foreseen: Foreseen | None = None

    def foresee(self, rooms: int, outputs: int) -> None:
        """Begins to touch memory for so many bytes of windows, and for so many of what calls will return."""
        try:
            self._foreseen = Foreseen(rooms, outputs)
        except (OSError, RuntimeError):
            pass  # where there is no thread or no memory to be had, pages are made when they are needed

    def settle(self) -> None:
        """Waits for what was begun."""
        if self._foreseen is not None:
            self._foreseen.wait()

    def at_least(self, count: int, like: list[Tensor]) -> list[list[Tensor]]:
        """One window per tensor for each of `count` calls; new ones hold the values of `like`."""
        sources = [window_of(tensor.detach()) for tensor in like]
        if self._calls and [window.numel() for window in self._calls[0]] != [source.numel() for source in sources]:
            self._calls.clear()
        missing = range(len(self._calls), count)
        if missing and self._device.type == "cpu":
            self._calls.extend(_mapped(sources, missing, self._foreseen))
        elif missing:
            self._calls.extend([window_of(fresh_copy(tensor.detach(), self._device)) for tensor in like] for _ in missing)
        return self._calls[:count]

    def clear(self, *, entirely: bool = False) -> None:
        """Gives the memory back; unless `entirely`, not where it is little."""
        if entirely or self._device.type != "cpu" or sum(window.numel() for call in self._calls for window in call) > _KEPT:
            self._calls.clear()


def _mapped(sources: list[Tensor], calls: range, foreseen: Foreseen | None) -> list[list[Tensor]]:
    """Windows with the bytes of `sources` for each call, in one mapping; in what was touched ahead, if that has room for all."""
    places, end = [], 0
    for call in calls:
        for number, source in enumerate(sources):
            start = end + _STARTS[(call + number * _APART) % len(_STARTS)] + skew_of(source)
            places.append(start)
            end = -(-(start + source.numel()) // _PAGE) * _PAGE
    size = max(end, _PAGE)
    memory, origin = (foreseen.take(size) if foreseen is not None else None) or (_mapping(size), 0)
    around, last = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=origin), 0
    for start, source in zip(places, sources * len(calls)):
        around[last:start] = GUARD
        last = start + source.numel()
    around[last:] = GUARD
    begin = iter(places)
    return [[_window(memory, origin + next(begin), source) for source in sources] for _ in calls]


def _mapping(nbytes: int) -> mmap.mmap:
    memory = _mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # Fewer faults now and fewer walks through page tables later, where the system has such pages.
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):
        pass
    return memory


def _window(memory: mmap.mmap, start: int, source: Tensor) -> Tensor:
    if not source.numel():
        return torch.empty(0, dtype=torch.uint8)
    skew = skew_of(source)
    window = torch.frombuffer(memory, dtype=torch.uint8, count=skew + source.numel(), offset=start - skew)[skew:]
    window.copy_(source)
    return window
