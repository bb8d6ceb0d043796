"""What comparing outputs with what is expected of them has found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

#: So many integers of an output, more of many, or one in `_RARE`, may be those that the reference gives for inputs a few roundings away.
_FEW_INTEGERS, _MORE, _MANY, _RARE = 2, 8, 4096, 100_000
#: Stands for an error without bound in JSON.
_WORST_RATIO = 1e30
_MAX_MISMATCHES = 8


@dataclass
class Comparison:
    """Mismatches and the largest error over tolerance among what is numeric."""

    mismatches: list[dict[str, Any]] = field(default_factory=list)
    worst: float = 0.0
    #: Why the outputs say nothing, where that may be said.
    says_nothing: str | None = None
    #: Whether a NaN that the inputs have was lost, or decided what it does not.
    mistakes_nan: bool = False

    def add(self, output: str, detail: str, ratio: float | None = None) -> None:
        """Notes a mismatch."""
        self.mismatches.append({"output": output, "detail": detail, "error_over_tolerance": _finite(ratio)})

    def to_json(self) -> dict[str, Any]:
        """The reply of `compare`: worst mismatches first."""
        ordered = sorted(self.mismatches, key=lambda item: -(item["error_over_tolerance"] or math.inf))
        return {"mismatches": ordered[:_MAX_MISMATCHES], "error_over_tolerance": _finite(self.worst)}


def _finite(ratio: float | None) -> float | None:
    return ratio if ratio is None else min(ratio, _WORST_RATIO)


def few_of(elements: int) -> int:
    """How many of an output's elements rounding may decide."""
    return max(_FEW_INTEGERS, min(_MORE, elements // _MANY), elements // _RARE)
