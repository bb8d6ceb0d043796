"""Memory that inputs of timed calls are written into, batch after batch.

How far an input lies from an output, counted from page to page, decides a third of the time of a kernel that streams through both: a load waits
for a store whose address differs from its own by whole pages. An allocator that is asked for the same sizes again gives all calls of a process
the same distance, and the next process another one. So every call's inputs begin somewhere else in their pages, at places that are the same
on both sides and in every process: each batch sees them all.
"""

from __future__ import annotations

import mmap
import random

import torch
from torch import Tensor

from .layout import GUARD, fresh_copy, window_of

# Bound before a candidate could put another in its place, whose memory is shared.
_mmap = mmap.mmap

_PAGE = 4096
#: Where windows begin in their pages: every multiple of what torch aligns to, in an order without a step that an allocator could have too.
_STARTS = random.Random(0).sample(range(0, _PAGE, 64), _PAGE // 64)
#: Tensors of one call begin at places that are this far from each other in that order.
_APART = 23
#: Bytes on the host that are kept for the next batches: to make so many pages anew takes longer than all else of the first one.
_KEPT = 256 << 20


class Rooms:
    """Windows for the inputs of calls, of which every page is there, for as many calls as the longest batch has had."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._calls: list[list[Tensor]] = []

    def at_least(self, count: int, like: list[Tensor]) -> list[list[Tensor]]:
        """One window per tensor for each of `count` calls; new ones hold the values of `like`."""
        sources = [window_of(tensor.detach()) for tensor in like]
        if self._calls and [window.numel() for window in self._calls[0]] != [source.numel() for source in sources]:
            self._calls.clear()
        missing = range(len(self._calls), count)
        if missing and self._device.type == "cpu":
            self._calls.extend(_mapped(sources, missing))
        elif missing:
            self._calls.extend([window_of(fresh_copy(tensor.detach(), self._device)) for tensor in like] for _ in missing)
        return self._calls[:count]

    def clear(self, *, entirely: bool = False) -> None:
        """Gives the memory back; unless `entirely`, not where it is little."""
        if entirely or self._device.type != "cpu" or sum(window.numel() for call in self._calls for window in call) > _KEPT:
            self._calls.clear()


def _mapped(sources: list[Tensor], calls: range) -> list[list[Tensor]]:
    """Windows with the bytes of `sources` for each call, in one mapping."""
    places, end = [], 0
    for call in calls:
        for number, source in enumerate(sources):
            start = end + _STARTS[(call + number * _APART) % len(_STARTS)]
            places.append(start)
            end = -(-(start + source.numel()) // _PAGE) * _PAGE
    memory = _mmap(-1, max(end, _PAGE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # Fewer faults now and fewer walks through page tables later, where the system has such pages.
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):
        pass
    around, last = torch.frombuffer(memory, dtype=torch.uint8), 0
    for start, source in zip(places, sources * len(calls)):
        around[last:start] = GUARD
        last = start + source.numel()
    around[last:] = GUARD
    begin = iter(places)
    return [[_window(memory, next(begin), source) for source in sources] for _ in calls]


def _window(memory: mmap.mmap, start: int, source: Tensor) -> Tensor:
    if not source.numel():
        return torch.empty(0, dtype=torch.uint8)
    window = torch.frombuffer(memory, dtype=torch.uint8, count=source.numel(), offset=start)
    window.copy_(source)
    return window
