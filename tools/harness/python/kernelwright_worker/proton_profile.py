"""The device's time of every launch, by Triton's own profiler: it sees kernels of any origin, and writes a file that others read."""

from __future__ import annotations

from .channel import WorkerError
from .repeated import Repeated

#: In the worker's own folder; Proton adds the ending.
NAME = "profile"


def record(repeated: Repeated) -> dict[str, int]:
    """Profiles some calls of a warm module into `profile.hatchet`; how many."""
    try:
        from triton import profiler
    except ImportError as error:
        raise WorkerError("profiler", "proton", f"Proton cannot be imported: {error}", "install triton 3 or later beside torch") from error
    repeated.synchronize()
    # By the kernels' names alone, not by who launched them.
    profiler.start(NAME, context="shadow", data="tree")
    try:
        repeated.several()
    finally:
        profiler.finalize()
    return {"calls": repeated.calls}
