"""The threads that torch's operators share on a CPU. Where they are when the clock starts decides what calls of microseconds take."""

from __future__ import annotations

from time import perf_counter_ns

import torch
from torch import Tensor

#: What torch gives one thread at least, in elements (at::internal::GRAIN_SIZE).
_GRAIN = 1 << 15
#: Threads that take turns on one processor need longer than this for next to nothing: each looks for the others' work for a while before it sleeps.
_SIDE_BY_SIDE_NS = 150_000
#: How often in a row they have to be quicker, and how long that may take: others may have the processors.
_ENOUGH, _PATIENCE_NS = 3, 2_000_000


class Team:
    """A number of threads."""

    def __init__(self, threads: int) -> None:
        self._room = torch.zeros(threads * _GRAIN, dtype=torch.uint8)
        # Bound now, before a candidate could put others in their place.
        self._fill, self._clock = Tensor.fill_, perf_counter_ns

    def gather(self) -> None:
        """Has them awake and at work side by side, as the supervisor has seen to it that they can be."""
        clock, quick = self._clock, 0
        begin = start = clock()
        while quick < _ENOUGH and start - begin < _PATIENCE_NS:
            self._fill(self._room, 0)
            end = clock()
            quick = quick + 1 if end - start < _SIDE_BY_SIDE_NS else 0
            start = end
