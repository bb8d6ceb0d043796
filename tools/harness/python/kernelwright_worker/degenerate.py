"""Problems on which a verdict is worth little: outputs that depend on nothing, or on more than the inputs."""

from __future__ import annotations

from typing import Any

from .channel import WorkerError
from .device import Device
from .draws import transform
from .problem import Problem
from .reference import SLOW_FIRST_RUN_NS, Reference, agree


def find(problem: Problem, reference: Reference, inputs: list[Any], outputs: Any, first_ns: int, seed: int, device: Device) -> tuple[str | None, int]:
    """Why a verdict on this problem is worth little, if it is; and the time of one run of the reference.

    `outputs` are those of the first run on `inputs`. Stops at the first draw with other outputs: for most problems that is the next one.
    """
    nanoseconds = first_ns
    if first_ns <= SLOW_FIRST_RUN_NS:
        again, _after, nanoseconds = reference.run(inputs)
        if not agree(outputs, again):
            return "the reference gives different outputs for equal inputs", nanoseconds
    if not inputs:
        return "the reference takes no inputs", nanoseconds
    for kind, offset in (("problem", 1), ("problem", 2), ("small", 0)):
        drawn = problem.inputs(seed + offset, device)
        try:
            changed, reason = transform(drawn, kind, device.torch)
            if reason is not None:
                continue
            other = reference.run(changed)[0]
        except WorkerError:
            if kind == "problem":
                raise
            continue
        if not agree(outputs, other):
            return None, nanoseconds
    return "the outputs of different inputs are equal within tolerance", nanoseconds
