"""Lists and dicts among the inputs of a call, into which a call may put other tensors: a cache that is replaced instead of written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from .trees import Tree, encode


class Containers:
    """What the lists and dicts of a call's inputs hold before it."""

    def __init__(self, inputs: list[Any]) -> None:
        self._inputs, self._form = inputs, _form_of(inputs)
        self._places = list(_places(inputs, 0))

    def hold_as_much(self) -> bool:
        """Whether they hold as many tensors of the same forms after the call, and the same values beside them."""
        pairs = ((own, _at(container, key)) for container, key, own in self._places)
        return _form_of(self._inputs) == self._form and all(_are_alike(own, new) for own, new in pairs)

    def are_rebound(self) -> bool:
        """Whether other tensors have taken the place of some."""
        return any(_at(container, key) is not own for container, key, own in self._places)

    def put_back(self) -> None:
        """Writes what has taken a tensor's place into that tensor, and puts it back: there it is looked for."""
        held = {id(own) for _container, _key, own in self._places}
        found = [_at(container, key) for container, key, _own in self._places]
        # One that was somewhere else among them is written itself.
        values = [new.clone() if isinstance(new, Tensor) and id(new) in held and new is not own else new for new, (_, _, own) in zip(found, self._places)]
        for (container, key, own), new in zip(self._places, values):
            if new is not own and _are_alike(own, new):
                own.copy_(new)
                container[key] = own


def _places(value: Any, depth: int) -> Iterator[tuple[Any, Any, Tensor]]:
    """Every list or dict below the inputs themselves with a key and the tensor there."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    else:
        return
    for key, item in items:
        if not isinstance(item, Tensor):
            yield from _places(item, depth + 1)
        elif depth and not isinstance(value, tuple):
            yield value, key, item


def _form_of(inputs: list[Any]) -> Tree:
    return encode(inputs, [], lambda tensor: tensor)


def _are_alike(own: Tensor, new: Any) -> bool:
    return isinstance(new, Tensor) and (new.shape, new.dtype, new.device) == (own.shape, own.dtype, own.device)


def _at(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except LookupError:
        return None
