"""What an input is in every draw: triangular or otherwise zero in the same places, symmetric, or in ascending order.

Kernels are written for that, as they are for a shape: other draws and timed calls keep it. Values say nothing of the kind: that all of them are
positive, or that a whole input is the same every time, is no reason to rely on it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .layout import can_scale
from .trees import dtype_name, tensors_of

#: Places of which elements are moved about, at most.
_MOST_PLACES = 4096
#: Fewer values than this come in ascending order by chance.
_FEWEST_IN_ORDER = 4


@dataclass(frozen=True)
class Structure:
    """What a tensor is in every draw."""

    shape: torch.Size
    #: Where it is zero, if there are such places.
    zeros: Tensor | None
    #: Its last two dimensions can be exchanged.
    symmetric: bool
    #: Along its last dimension.
    ascending: bool
    #: Elements that may take each other's values, counted as they lie in memory, and the mirror image of each; itself where there is none.
    places: Tensor
    mirrors: Tensor

    def restore(self, changed: Tensor, before: Tensor) -> None:
        """Makes what was changed again what it has to be, with as much of the change as possible."""
        if self.symmetric:
            moved = changed != before
            lower = torch.ones(changed.shape[-2:], dtype=torch.bool, device=changed.device).tril(-1)
            taken = moved.mT & (lower | ~moved)
            changed.copy_(torch.where(taken, changed.mT, changed))
        if self.zeros is not None:
            changed.masked_fill_(self.zeros, 0)
        if self.ascending:
            # A NaN has no place in an order.
            changed.copy_(torch.where(changed.isfinite(), changed, before).sort(dim=-1).values)

    def free(self) -> Tensor | None:
        """The elements that need not be zero, by index; None where all need not."""
        return None if self.zeros is None else (~self.zeros).nonzero()

    def to_json(self) -> dict[str, Any]:
        """The places alone: what a supervisor that only moves bytes has to know."""
        return {"places": self.places.tolist(), "mirrors": self.mirrors.tolist()}

    def told(self, tensor: Tensor) -> str:
        """What the tensor is, in words."""
        named = [
            None if self.zeros is None else f"zero in the same {100 * self.zeros.double().mean().item():.3g} % of its places",
            "symmetric" if self.symmetric else None,
            "in ascending order" if self.ascending else None,
        ]
        return f"{dtype_name(tensor.dtype)}{list(tensor.shape)} is {' and '.join(name for name in named if name)}"


def find(inputs: list[Any], again: Callable[[], list[Any]]) -> list[Structure | None]:
    """What each tensor of a draw is in another one as well, which is only made where it may be something."""
    tensors = tensors_of(inputs)
    if not any(_suspected(tensor) for tensor in tensors):
        return [None] * len(tensors)
    others = tensors_of(again())
    if len(others) != len(tensors):
        return [None] * len(tensors)
    return [_common(tensor.detach(), other.detach()) for tensor, other in zip(tensors, others)]


def fitting(structures: list[Structure | None], inputs: list[Any]) -> list[Structure | None]:
    """Those of the tensors of one draw: shapes may depend on chance."""
    tensors = tensors_of(inputs)
    if len(tensors) != len(structures):
        return [None] * len(tensors)
    return [known if known is not None and known.shape == tensor.shape else None for known, tensor in zip(structures, tensors)]


def _suspected(tensor: Tensor) -> bool:
    if not can_scale(tensor) or tensor.numel() < 2:
        return False
    tensor = tensor.detach()
    return _is_symmetric(tensor) or _is_ascending(tensor) or bool((tensor == 0).any())


def _common(first: Tensor, second: Tensor) -> Structure | None:
    if not can_scale(first) or first.numel() < 2 or first.shape != second.shape or first.dtype != second.dtype:
        return None
    zeros: Tensor | None = first == 0
    if zeros.all() or not zeros.any() or not torch.equal(zeros, second == 0):
        zeros = None
    symmetric = all(_is_symmetric(tensor) for tensor in (first, second))
    ascending = all(_is_ascending(tensor) for tensor in (first, second))
    # What is the same every time may be a mask or a table, and has to be read.
    if torch.equal(first, second):
        zeros, symmetric = None, False
    if zeros is None and not symmetric and not ascending:
        return None
    return Structure(first.shape, zeros, symmetric, ascending, *_places(first, zeros, symmetric, ascending))


def _places(tensor: Tensor, zeros: Tensor | None, symmetric: bool, ascending: bool) -> tuple[Tensor, Tensor]:
    """Elements that can be moved about, some thousand of all, and their mirror images."""
    if ascending or not tensor.is_contiguous():
        none = torch.empty(0, dtype=torch.int64, device=tensor.device)
        return none, none
    allowed = torch.ones(tensor.shape, dtype=torch.bool, device=tensor.device) if zeros is None else ~zeros
    if symmetric:
        allowed = allowed.triu()
    places = allowed.view(-1).nonzero().view(-1)
    if places.numel() > _MOST_PLACES:
        # Which ones nobody knows who only knows the problem.
        chosen = random.SystemRandom().sample(range(places.numel()), _MOST_PLACES)
        places = places[torch.tensor(sorted(chosen), device=places.device)]
    if not symmetric:
        return places, places
    side = tensor.shape[-1]
    row, column = places // side % side, places % side
    return places, places + (column - row) * side + (row - column)


def _is_symmetric(tensor: Tensor) -> bool:
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    return torch.equal(tensor, tensor.mT)


def _is_ascending(tensor: Tensor) -> bool:
    if tensor.is_complex() or tensor.dim() == 0 or tensor.shape[-1] < _FEWEST_IN_ORDER:
        return False
    count = tensor.shape[-1]
    if not bool((tensor[..., 0] < tensor[..., -1]).all()):
        return False
    return bool((tensor.narrow(-1, 1, count - 1) >= tensor.narrow(-1, 0, count - 1)).all())
