"""Outputs that are what came in, moved by a little, as an optimiser moves weights: what counts then is the step, not what it is taken from.

A term that is a tenth of such a step may be less than any kernel is allowed to be off of the whole. As it often grows with what the step is taken from (the
decay of weights, of an average), no other draw shows it either.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from .tolerance import NOISE_FACTOR, chunks

#: Steps are on average no more than this part of what they are taken from, and no less than so many of its last digits.
_SMALL, _DIGITS_OF_STEP = 0.02, 64
#: They may be off on average by this part of themselves, and by so many last digits of what they are taken from.
_OFF, _DIGITS = 2e-3, 8
#: Of fewer elements no mean is taken; so many tell whether a tensor may be taken for another one that has moved.
_FEWEST, _LOOKS = 64, 4096


def explain(baseline: Tensor, precise: Tensor, actual: Tensor, origins: Iterable[tuple[str, Tensor]]) -> tuple[str, float] | None:
    """What is wrong with the step to an output of the expected form, and by how much more than is allowed; nothing where it is right, or no such step.
    `origins` are what it may be taken from, each with its name. Where there is but one of the output's form, nothing says where a step would go: what is near it
    may be its norm, of numbers that had about this size."""
    if baseline.dtype not in (torch.float32, torch.float64) or baseline.numel() < _FEWEST:
        return None
    digit = torch.finfo(baseline.dtype).eps
    alike = [(name, origin) for name, origin in origins if origin.shape == baseline.shape and origin.dtype == baseline.dtype]
    for name, origin in alike if len(alike) > 1 else ():
        if not _is_near(baseline, origin):
            continue
        step, size, off, noise = _means(baseline, precise, actual, origin.to(baseline.device))
        if not _DIGITS_OF_STEP * digit * size < step <= _SMALL * size:
            continue
        limit = _OFF * step + _DIGITS * digit * size + NOISE_FACTOR * noise
        if off > limit:
            return f"the step from {name} is {100 * off / step:.2g} % off on average, where rounding makes {100 * limit / step:.2g} % of it at most", off / limit
    return None


def _is_near(tensor: Tensor, origin: Tensor) -> bool:
    """Whether some of the elements have moved by little, on average."""
    every = -(-tensor.numel() // _LOOKS)
    some, others = (part.detach().reshape(-1)[::every].to(torch.float64) for part in (tensor, origin.to(tensor.device)))
    # With room for a tensor of which a few parts have moved further.
    return bool((some - others).abs().mean() <= 10 * _SMALL * others.abs().mean())


def _means(baseline: Tensor, precise: Tensor, actual: Tensor, origin: Tensor) -> tuple[float, float, float, float]:
    """Of absolute values: of the step, of what it is taken from, of what the given step is off, and of what the baseline's is."""
    sums = torch.zeros(4, dtype=torch.float64, device=baseline.device)
    for _start, parts in chunks(baseline, precise, actual, origin.detach()):
        b, e, a, o = (part.to(torch.float64) for part in parts)
        off = torch.minimum((a - e).abs(), (a - b).abs())
        sums += torch.stack([(b - o).abs().sum(), o.abs().sum(), off.sum(), (b - e).abs().sum()])
    step, size, off, noise = (float(total) / baseline.numel() for total in sums)
    return step, size, off, noise
