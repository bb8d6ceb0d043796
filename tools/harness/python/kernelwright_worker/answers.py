"""What outputs and comparisons are worth: whether they are an answer, noise, or few numbers of many."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .comparison import Comparison
from .layout import same_bits
from .trees import tensors_of

#: Outputs with one number for so many of the inputs are those of a reduction.
_REDUCED = 1024
#: What is left of most of a gradient that vanishes, of its size before.
_VANISHED = 0.01


def may_be_noise(result: Comparison) -> bool:
    """Whether there are mismatches, and all of them in values of results: not in their form, in integers, or in inputs that are to be left alone."""
    return bool(result.mismatches) and all(item["error_over_tolerance"] is not None for item in result.mismatches)


def has_integers(result: Comparison) -> bool:
    """Whether integers are among the mismatches, or something else that may not be off by anything, and all of them are in outputs."""
    exact = any(item["error_over_tolerance"] is None for item in result.mismatches)
    return exact and all(item["output"].startswith("output") for item in result.mismatches)


def same_value(expected: Any, got: Any, device: torch.device) -> bool:
    """Whether an input is, bit for bit, what it was. The quick answer: what is not gets compared and explained."""
    a, b = tensors_of(expected), tensors_of(got)
    return len(a) == len(b) and all(same_bits(x, y.to(device)) for x, y in zip(a, b))


def floating(outputs: Any) -> list[Tensor]:
    """The floating and complex tensors of a value that have elements."""
    return [tensor for tensor in tensors_of(outputs) if (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel()]


def reduces(inputs: list[Any], outputs: Any) -> bool:
    """Whether few numbers of some output come of many: of any draw of a distribution the same within tolerance, or nearly."""
    given = sum(tensor.numel() for tensor in floating(inputs))
    return any(tensor.numel() * _REDUCED <= given for tensor in floating(outputs))


def gradients_vanish(outputs: Any, before: Any) -> bool:
    """Whether some gradient is smaller where all inputs are larger than before, or most of it is next to nothing: of a softmax that saturates, say, all that
    is left is what rounding leaves of large terms that cancel, and every way of computing it has its own. A few rows that are nearly tied may have more
    than all had before."""

    def sizes(value: Any) -> list[tuple[float, float]]:
        gradients = [value[name] for name in ("input_gradients", "parameter_gradients")] if isinstance(value, dict) else []
        wide = [tensor.abs().to(torch.float64) for tensor in floating(gradients)]
        return [(float(torch.linalg.vector_norm(tensor)), float(tensor.median())) for tensor in wide]

    pairs = zip(sizes(outputs), sizes(before))
    return any(norm < least or typical < _VANISHED * least_typical for (norm, typical), (least, least_typical) in pairs)


def no_answer(outputs: Any, kind: str) -> str | None:
    """Why the outputs of a draw decide nothing, if so."""
    values = floating(outputs)
    if not values:
        return None
    total = sum(tensor.numel() for tensor in values)
    unusable = sum(int((~torch.isfinite(tensor) if kind != "special" else torch.isnan(tensor)).sum()) for tensor in values)
    return f"the reference gives {unusable} of {total} values that are not finite" if 2 * unusable > total else None
