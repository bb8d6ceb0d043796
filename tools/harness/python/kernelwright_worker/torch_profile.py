"""Where the time of a module's calls goes, by the Torch profiler.

On `cpu` the entries are torch's operators by self time, C functions called through ctypes, and one entry for everything else; on `cuda`
they are the device's kernels, copies and fills.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from typing import Callable

import torch
from torch.autograd import DeviceType
from torch.autograd.profiler import profile, record_function

from .repeated import Repeated

MOST_KERNELS = 40
SMALLEST_SHARE = 0.001
CALL = "kernelwright: one call"
CTYPES = "ctypes: "
OUTSIDE = "(outside torch operators)"
REST = "(all others)"


def trace(repeated: Repeated) -> dict:
    """Profiles calls whose wall time is known: `kernels` (most expensive first) and `limits`."""
    # The first session starts the profiler's own machinery and may miss kernels; it sees a call that costs nothing.
    _session(repeated, lambda: torch.ones(1, device=repeated.device), 1)
    events = _session(repeated, repeated.call, repeated.calls)
    wall_ns = repeated.wall_ns
    if repeated.is_queued:
        kernels = _ranked(_device_times(events), repeated.calls)
        limits = _cuda_limits(sum(kernel["time_per_call_ns"] for kernel in kernels), wall_ns)
    else:
        steady = _steady(events)
        times = _operator_times(steady)
        kernels = _ranked(times, len(steady))
        slowdown = sum(one.cpu_time_total for one in steady) * 1e3 / max(len(steady) * wall_ns, 1)
        limits = _cpu_limits({kernel["name"] for kernel in kernels}, slowdown)
    return {"kernels": kernels, "limits": limits}


def _session(repeated: Repeated, call: Callable[[], object], calls: int) -> list:
    """The events of `calls` calls under the profiler, each call inside an annotation of its own.

    `torch.profiler.profile` is this one with traces of many steps around it, which are not needed here; it asks for a setting of torch's compiler
    when it starts, and imports all of that for it: several seconds.
    """
    with profile(use_kineto=True, use_device="cuda" if repeated.is_queued else None) as session:
        repeated.synchronize()
        for _ in range(calls):
            with record_function(CALL):
                call()
        repeated.synchronize()
    return list(session.function_events or [])


class _Time:
    """Launches and nanoseconds of one name, over all profiled calls."""

    def __init__(self) -> None:
        self.launches = 0
        self.ns = 0.0


def _device_times(events: list) -> dict[str, _Time]:
    """Kernels, copies and fills by name. Annotations that the profiler mirrors onto the device's timeline are no work of their own."""
    times: dict[str, _Time] = defaultdict(_Time)
    for event in events:
        # torch before 2.5 does not tell annotations; ours is known by its name.
        annotation = getattr(event, "is_user_annotation", False) or event.name == CALL
        if event.device_type == DeviceType.CUDA and not annotation:
            time_of = times[event.name]
            time_of.launches += 1
            time_of.ns += event.time_range.elapsed_us() * 1e3
    return times


def _steady(events: list) -> list:
    """The annotations of the faster half of the calls: on shared cores the others mostly show what else the machine was doing."""
    calls = sorted((event for event in events if event.name == CALL), key=lambda event: event.cpu_time_total)
    return calls[: (len(calls) + 1) // 2]


def _operator_times(calls: list) -> dict[str, _Time]:
    """Operators inside these calls by self time, and what no operator accounts for: the calls' own self time."""
    times: dict[str, _Time] = defaultdict(_Time)
    pending = list(calls)
    while pending:
        event = pending.pop()
        pending.extend(event.cpu_children)
        name = OUTSIDE if event.name == CALL else event.name
        times[name].launches += name != OUTSIDE
        times[name].ns += max(0.0, event.self_cpu_time_total) * 1e3
    return times


def _ranked(times: dict[str, _Time], calls: int) -> list[dict]:
    """The profile's entries, most expensive first. What does not matter is added up in a last one."""
    total = sum(time_of.ns for time_of in times.values())
    ranked = sorted(times.items(), key=lambda item: (-item[1].ns, item[0]))
    kept = [(name, time_of) for name, time_of in ranked[:MOST_KERNELS] if time_of.ns >= SMALLEST_SHARE * total]
    if rest := ranked[len(kept) :]:
        others = _Time()
        others.launches = sum(time_of.launches for _, time_of in rest)
        others.ns = sum(time_of.ns for _, time_of in rest)
        kept.append((REST, others))
    return [
        {
            "name": name,
            "launches_per_call": round(time_of.launches / calls, 3),
            "time_per_call_ns": max(0, round(time_of.ns / calls)),
            "share": round(time_of.ns / total, 4) if total > 0 else 0.0,
        }
        for name, time_of in kept
    ]


def _cpu_limits(names: set[str], slowdown: float) -> list[str]:
    """What the entries with these names do not show."""
    limits = []
    if OUTSIDE in names:
        limits.append(
            f"{OUTSIDE} is wall time of the calls that no torch operator accounts for: Python itself, and native code that the profiler "
            "does not see, such as a C++ extension's own loops."
        )
    if any(name.startswith(CTYPES) for name in names):
        limits.append(f"`{CTYPES}NAME` is a C function called through ctypes, timed from outside; what it does inside is not known.")
    limits.append("Operators on threads that the module starts itself are not seen; threads inside an operator are part of its time.")
    if slowdown > 1.2:
        limits.append(f"The calls took {slowdown:.1f} times as long under the profiler: small operators appear dearer than they are.")
    return limits


def _cuda_limits(accounted_ns: int, wall_ns: int) -> list[str]:
    limits = ["Device times only; what limits a kernel (memory, arithmetic, occupancy) is not measured here."]
    if accounted_ns == 0:
        limits.append("The profiler recorded no kernel: the module ran none, or this process has no access to the driver's tracing.")
    elif accounted_ns < 0.9 * wall_ns:
        idle = (wall_ns - accounted_ns) / wall_ns
        limits.append(f"No kernel accounts for about {idle:.0%} of a call's wall time: launches and host work leave the device idle.")
    return limits


def show_foreign_calls() -> None:
    """Makes C functions called through ctypes visible to the profiler, as `ctypes: NAME`; for the rest of the process.

    Raw-pointer kernels are called this way, and the profiler by itself shows nothing of them. Only libraries loaded from now on are
    covered, so this comes before the import of what is profiled.
    """
    original = ctypes._CFuncPtr

    class Recorded(original):
        # ctypes wants the calling convention from every such class; each library's own class overrides it.
        _flags_ = ctypes.CDLL._func_flags_

        def __call__(self, *arguments: object, **keywords: object) -> object:
            # Outside a session the annotation would only cost time.
            if not torch.autograd._profiler_enabled():
                return original.__call__(self, *arguments, **keywords)
            with record_function(CTYPES + str(getattr(self, "__name__", "function"))):
                return original.__call__(self, *arguments, **keywords)

    ctypes._CFuncPtr = Recorded
