"""Inputs written into device memory of a stopped candidate, each call's moved about by its recipe."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .cuda_ipc import Block
from .layout import window_of
from .recipes import Moves, Recipe, words_of
from .structure import Structure
from .trees import Untransportable

#: So many single elements are written together: what is known of each takes some hundred bytes meanwhile.
_AT_ONCE = 1 << 24


def deliver(tensor: Tensor, structure: Structure | None, wanted: list[Recipe], places: list[Any], blocks: list[Block]) -> None:
    """Writes a tensor for every call to `places`: the number of a block, and how many bytes into it. Does not wait until it is written.

    Raises `DriverError`, or `Untransportable` for places where no such tensor can lie.
    """
    moves = Moves.of(tensor, structure)
    if not moves.count:
        return
    if any(place is None for place in places):
        raise Untransportable("inputs of a call that do not lie on the device")
    address = window_of(tensor.detach()).data_ptr()
    for (number, offset), recipe in zip(places, wanted, strict=True):
        for to, source, count in moves.runs(recipe):
            blocks[number].write(offset + to * moves.unit, address + source * moves.unit, count * moves.unit)
    for begin in range(0, len(wanted), step := max(1, _AT_ONCE // max(moves.singles, 1))):
        _stir(tensor, moves, wanted[begin : begin + step], places[begin : begin + step], blocks)


def _stir(tensor: Tensor, moves: Moves, wanted: list[Recipe], places: list[Any], blocks: list[Block]) -> None:
    spots = moves.spots(wanted)
    if spots is None:
        return
    # All calls of a block in one launch: one for each element would take longer than everything else.
    of_block: dict[int, list[int]] = {}
    for call, ((number, offset), recipe) in enumerate(zip(places, wanted, strict=True)):
        if offset % moves.unit:
            raise Untransportable(f"a tensor of {moves.unit} bytes an element at {offset}")
        if recipe.stir:
            of_block.setdefault(number, []).append(call)
    starts = torch.tensor([[offset // moves.unit] for _number, offset in places], device=tensor.device)
    targets, values = spots[0] + starts, words_of(tensor)[spots[1]]
    for number, calls in of_block.items():
        # Large tensors have a block each, and a list of calls would be copied to the device for each of them.
        in_a_row = calls[-1] - calls[0] == len(calls) - 1
        chosen: Any = slice(calls[0], calls[-1] + 1) if in_a_row else calls
        blocks[number].scatter(targets[chosen], values[chosen])
