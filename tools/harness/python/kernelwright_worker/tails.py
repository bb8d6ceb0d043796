"""Outputs of which many values are so small beside others that zeros would pass for them.

Tolerances follow the size of a whole output, since what sums lose by cancelling follows the sizes of their terms. Where many values lie below what that
allows, leaving them out would be work saved. There, values that the baseline itself has almost exactly have to be those of the
candidate, roughly and for the most part.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .tolerance import Precision, Scale, chunks

#: Of the values that are not as good as zero, such that are below the tolerance have to be more than this part: one of some hundreds is by chance,
#: and a mask may fill most of an output with the least number there is.
_MANY = 0.05
#: Of those, the baseline has to have more than this part almost exactly.
_MOST = 0.5
#: How far the baseline may be from a value for that to count, and from how far on a candidate's is another one, as parts of it.
_EXACT, _OFF = 0.01, 0.5
#: More of them than this part may not be others.
_WRONG = 0.25


def explain(scale: Scale, baseline: Tensor, precise: Tensor, actual: Tensor, precision: Precision) -> str | None:
    """What to say of real tensors of one shape, in which many of the small values are others; None where that is not so."""
    if precise is baseline or precision is not Precision.FULL:
        return None
    limit = max(scale.relative * scale.size, scale.noise)
    # What is less is zero in quick arithmetic.
    least = torch.finfo(baseline.dtype).tiny
    values = small = 0
    for _start, (exact,) in chunks(precise):
        sizes = exact.abs()
        values += int((sizes >= least).sum())
        small += int(((sizes >= least) & (sizes <= limit)).sum())
    if small <= _MANY * values:
        return None
    known = off = 0
    for _start, parts in chunks(baseline, precise, actual):
        base, exact, given = (part.to(torch.float64) for part in parts)
        sizes = exact.abs()
        counted = (sizes >= least) & (sizes <= limit) & ((base - exact).abs() <= _EXACT * sizes)
        known += int(counted.sum())
        off += int((counted & ~((given - exact).abs() <= _OFF * sizes)).sum())
    if known <= _MOST * small or off <= _WRONG * known:
        return None
    return f"{off} of {known} values that are small beside the others (up to {limit:.3g}) are off by more than half of themselves, which the reference has almost exactly"
