"""A call made again and again: how often it is worth making, and what it takes by the wall clock without any profiler."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

WARM_UP_CALLS = 3
#: Slow calls: warming up ends after this long even if fewer calls were made.
WARM_UP_S = 1.0
MOST_CALLS = 20
FEWEST_CALLS = 3
MEASURED_S = 0.3
#: Quick calls are timed for a shorter while, and no more often than this.
MOST_TIMED = 2000


class Repeated:
    """A module's call after its first ones, with their compilation and autotuning, are made. Whatever the call raises passes through."""

    def __init__(self, call: Callable[[], object], device: torch.device) -> None:
        self.call = call
        self.device = device
        self.is_queued = device.type == "cuda"
        seconds = self._warm_up()
        self._affordable = int(MEASURED_S / max(seconds, 1e-9))
        #: How many calls a profiler is shown.
        self.calls = max(FEWEST_CALLS if seconds < MEASURED_S else 1, min(MOST_CALLS, self._affordable))
        self.wall_ns = 0

    def synchronize(self) -> None:
        """Returns when the device has done all that was submitted."""
        if self.is_queued:
            torch.cuda.synchronize(self.device)

    def several(self) -> None:
        """Makes as many calls as a profiler is shown."""
        for _ in range(self.calls):
            self.call()
        self.synchronize()

    def _warm_up(self) -> float:
        """Makes the first calls; returns the last one's time in seconds, never the first one's, which is compilation."""
        seconds = self._once()
        began = time.perf_counter()
        for _ in range(WARM_UP_CALLS - 1):
            seconds = self._once()
            if time.perf_counter() - began > WARM_UP_S:
                break
        return seconds

    def _once(self) -> float:
        start = time.perf_counter()
        self.call()
        self.synchronize()
        return time.perf_counter() - start

    def time(self) -> int:
        """Finds `wall_ns`: the median call; on a device that queues calls, of the median of queued batches. How many calls it made."""
        if self.is_queued:
            # A batch of calls that are too slow to be profiled MOST_CALLS times is long enough by itself.
            batch, batches = self.calls, 3 if self.calls == MOST_CALLS else 1
        else:
            batch, batches = 1, max(self.calls, min(MOST_TIMED, self._affordable))
        times = []
        for _ in range(batches):
            start = time.perf_counter_ns()
            for _ in range(batch):
                self.call()
            self.synchronize()
            times.append((time.perf_counter_ns() - start) / batch)
        self.wall_ns = int(statistics.median(times))
        return batch * batches
