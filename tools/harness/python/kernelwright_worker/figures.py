"""Facts with their figures in words, and short measurements: what the two target descriptions share."""

from __future__ import annotations

import time
from typing import Callable


class Facts:
    """The facts of a target in the order they were found. A figure that could not be had (`None`) leaves no fact: absent, never 0."""

    def __init__(self) -> None:
        self.entries: list[dict[str, str]] = []

    def read(self, name: str, value: object | None) -> None:
        """Adds a figure that the system or the device states about itself."""
        self._add(name, value, "read")

    def measured(self, name: str, value: object | None) -> None:
        """Adds a figure that was just measured."""
        self._add(name, value, "measured")

    def _add(self, name: str, value: object | None, source: str) -> None:
        if value is not None and str(value) != "":
            self.entries.append({"name": name, "value": str(value), "source": source})


def three_digits(value: float) -> str:
    """Three significant digits without an exponent, as every figure of the project prints."""
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def size(count: int) -> str:
    """A size in binary units; whole numbers stay whole: `32 KiB`, `1.25 MiB`."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value == int(value) else f"{three_digits(value)} {unit}"


def rate(per_second: float, unit: str) -> str:
    """A rate in decimal units: `41.2 GB/s`, `1.02 TFLOP/s`."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if per_second >= scale:
            return f"{three_digits(per_second / scale)} {prefix}{unit}/s"
    return f"{per_second:.0f} {unit}/s"


def duration(seconds: float) -> str:
    """A duration in the unit a reader expects: `712 ns`, `18.4 us`, `17.7 ms`."""
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{three_digits(seconds * scale)} {unit}"
    return f"{three_digits(seconds)} s"


def best_seconds(once: Callable[[], float | None], budget_s: float, at_least: int = 3) -> float:
    """The shortest of repeated runs: the machine's own rate, since disturbance only ever adds time.

    `once` does the work; it may return its own time in seconds (a device's clock), else the wall clock around it counts.
    Runs at least `at_least` times, then until `budget_s` is spent.
    """
    best, runs, began = float("inf"), 0, time.perf_counter()
    while runs < at_least or time.perf_counter() - began < budget_s:
        start = time.perf_counter()
        own = once()
        best = min(best, own if own is not None else time.perf_counter() - start)
        runs += 1
    return best
