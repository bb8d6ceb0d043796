"""Problems on which a verdict is worth little: results that depend on nothing, or on more than the inputs.

The results of a call are its outputs and what it leaves in its inputs, as where candidates are judged.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .channel import WorkerError
from .device import Device
from .draws import transform
from .layout import same_bits
from .outputs import agree, leaves
from .problem import Problem
from .reference import SLOW_FIRST_RUN_NS, Reference
from .trees import encode, tensors_of


def find(problem: Problem, reference: Reference, inputs: list[Any], outputs: Any, first_ns: int, seed: int, device: Device) -> tuple[str | None, int]:
    """Why a verdict on this problem is worth little, if it is; and the time of one run of the reference.

    `outputs` are those of the first run on `inputs`. Stops at the first draw with other results, of which none is the same
    number everywhere: for most problems that is the next one.
    """
    nanoseconds = first_ns
    after: list[Any] | None = None
    if first_ns <= SLOW_FIRST_RUN_NS:
        again, after, nanoseconds = reference.run(inputs)
        if not agree(outputs, again) or not _repeats_in_place(reference, inputs, after):
            return "the reference gives different outputs for equal inputs", nanoseconds
    if not inputs:
        return "the reference takes no inputs", nanoseconds
    differed = depends = False
    constant = _constant(outputs)
    for kind, offset in (("problem", 1), ("problem", 2), ("small", 0), ("uneven", 1), ("spiked", 1)):
        drawn = problem.inputs(seed + offset, device)
        try:
            changed, reason = transform(drawn, kind, device.torch, seed)
            if reason is not None:
                continue
            other, other_after, _nanoseconds = reference.run(changed)
        except WorkerError:
            if kind == "problem":
                raise
            continue
        constant = [(number, leaf) for number, leaf in constant if _is_that(leaf, other, number)]
        if not agree(outputs, other):
            if not constant:
                return None, nanoseconds
            depends = True
            continue
        if after is None:
            # A slow reference runs once more only where it comes to this.
            after = reference.run(inputs)[1]
        if not _leave_the_same(inputs, after, changed, other_after):
            return None, nanoseconds
        differed = differed or not _same(inputs, changed)
    if constant and len(constant) < len(list(leaves(outputs))):
        numbers = " and ".join(str(number + 1) for number, _leaf in constant)
        return f"tensor {numbers} of the outputs holds one value, the same for all inputs that were tried", nanoseconds
    if depends:
        return None, nanoseconds
    if not differed:
        return "`get_inputs` gives the same inputs every time, so that nothing shows whether the outputs depend on them", nanoseconds
    return "the outputs of different inputs are equal within tolerance", nanoseconds


def _constant(outputs: Any) -> list[tuple[int, Tensor]]:
    """Tensors of the outputs that hold one value in many places, with their numbers."""
    return [(number, leaf) for number, leaf in enumerate(leaves(outputs)) if leaf.numel() > 1 and bool((leaf == leaf.reshape(-1)[0]).all())]


def _is_that(leaf: Tensor, outputs: Any, number: int) -> bool:
    """Whether a tensor of other outputs holds the same."""
    other = list(leaves(outputs))[number : number + 1]
    return bool(other) and other[0].shape == leaf.shape and other[0].dtype == leaf.dtype and bool((other[0] == leaf).all())


def _repeats_in_place(reference: Reference, inputs: list[Any], after: list[Any]) -> bool:
    """Whether another call leaves the same in its inputs; made only where a call leaves something there."""
    return _same(inputs, after) or _leave_the_same(inputs, after, inputs, reference.run(inputs)[1])


def _leave_the_same(before: list[Any], after: list[Any], other_before: list[Any], other_after: list[Any]) -> bool:
    """Whether two calls leave equal values in those inputs that they change: what they leave alone is as different as the draws are."""
    calls = zip(*(tensors_of(values) for values in (before, after, other_before, other_after)))
    return all(agree(a.detach(), b.detach()) for x, a, y, b in calls if not (same_bits(x, a) and same_bits(y, b)))


def _same(first: list[Any], second: list[Any]) -> bool:
    """Whether two lists of inputs hold the same, bit for bit."""
    tensors: tuple[list[Any], list[Any]] = ([], [])
    trees = [encode(values, found, lambda tensor: tensor) for values, found in zip((first, second), tensors)]
    return trees[0] == trees[1] and all(same_bits(a, b) for a, b in zip(*tensors))
