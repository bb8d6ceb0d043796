"""What a module holds at one moment, and may be given back: its parameters and buffers, and what it keeps in plain attributes: a count of calls, a cache.

Attributes go back as they were, whatever has taken their place: a graph that was recorded for a buffer is of no use without it. Objects of a class that comes
from elsewhere are left as they are.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType
from typing import Any

import torch
from torch import Tensor, nn

from .layout import same_bits, window_of

#: What torch keeps of a module beside what somebody has given it.
_OF_TORCH = frozenset(vars(nn.Module()))
_NUMBERS = (NoneType, bool, int, float, complex, str)
_COLLECTIONS = (dict, OrderedDict, defaultdict, list, deque, set)
#: Lists within lists are followed this far.
_DEEPEST = 8


@dataclass
class _Held:
    """A collection, and what was in it."""

    collection: Any
    entries: Any
    #: Names that are none of the module's own.
    left_out: frozenset[str] = frozenset()

    def now(self) -> Any:
        if isinstance(self.collection, dict):
            return {name: value for name, value in self.collection.items() if name not in self.left_out}
        return type(self.collection)(self.collection)

    def is_changed(self) -> bool:
        now = self.now()
        if len(now) != len(self.entries):
            return True
        if isinstance(now, dict):
            return any(name not in now or not _is(value, now[name]) for name, value in self.entries.items())
        if isinstance(now, set):
            return now != self.entries
        return not all(map(_is, self.entries, now))

    def restore(self) -> None:
        if isinstance(self.collection, dict):
            for name in self.now().keys() - self.entries.keys():
                del self.collection[name]
            self.collection.update(self.entries)
        elif self.is_changed():
            self.collection.clear()
            (self.collection.update if isinstance(self.collection, set) else self.collection.extend)(self.entries)


class Snapshot:
    """What a module held when it was taken."""

    def __init__(self, registered: _Part | None = None, attributes: _Part | None = None) -> None:
        self._parts = [part for part in (registered, attributes) if part is not None]

    @classmethod
    def of(cls, module: object) -> Snapshot:
        """That of a module; nothing of what is none."""
        if not isinstance(module, nn.Module):
            return cls()
        registered = _Part(set())
        for part in module.modules():
            registered.follow(part._parameters)
            registered.follow(part._buffers)
        attributes = _Part(registered.seen, {type(part).__module__ for part in module.modules() if not type(part).__module__.startswith("torch.")})
        for part in module.modules():
            attributes.follow_names_of(part)
        return cls(registered, attributes)

    def of_registered(self) -> Snapshot:
        """What is in it of parameters and buffers."""
        return Snapshot(*self._parts[:1])

    def is_changed(self) -> bool:
        """Whether the module holds anything else by now."""
        return any(part.is_changed() for part in self._parts)

    def restore(self) -> None:
        """Puts the tensors themselves back, and what they held. What has taken their place, an input say, is left alone."""
        for part in self._parts:
            part.restore()


class _Part:
    """Collections and tensors that can be reached from some others."""

    def __init__(self, seen: set[int], own_classes: Iterable[str] = ()) -> None:
        #: Objects that were followed: they live as long as this, which keeps them.
        self.seen = seen
        self._own_classes = frozenset(own_classes)
        self._held: list[_Held] = []
        self._tensors: list[tuple[Tensor, Tensor]] = []

    def follow_names_of(self, owner: Any) -> None:
        """What an object has in its attributes."""
        self._keep(_Held(vars(owner), None, _OF_TORCH if isinstance(owner, nn.Module) else frozenset()), 0)

    def follow(self, value: Any, depth: int = 0) -> None:
        """What a value holds, in collections and objects of the module's own classes as well."""
        if id(value) in self.seen or depth > _DEEPEST or isinstance(value, _NUMBERS):
            return
        if isinstance(value, Tensor):
            if is_strided(value):
                self.seen.add(id(value))
                self._tensors.append((value, window_of(value.detach()).clone()))
        elif type(value) in _COLLECTIONS:
            self._keep(_Held(value, None), depth)
        elif type(value) is tuple:
            for entry in value:
                self.follow(entry, depth + 1)
        elif type(value).__module__ in self._own_classes and not isinstance(value, (type, nn.Module)) and type(getattr(value, "__dict__", None)) is dict:
            self.seen.add(id(value))
            self._keep(_Held(vars(value), None), depth)

    def _keep(self, held: _Held, depth: int) -> None:
        self.seen.add(id(held.collection))
        held.entries = held.now()
        self._held.append(held)
        for entry in held.entries.values() if isinstance(held.entries, dict) else held.entries:
            self.follow(entry, depth + 1)

    def is_changed(self) -> bool:
        return any(held.is_changed() for held in self._held) or any(not same_bits(window_of(tensor.detach()), saved) for tensor, saved in self._tensors)

    def restore(self) -> None:
        for held in self._held:
            held.restore()
        for tensor, saved in self._tensors:
            if not same_bits(window_of(tensor.detach()), saved):
                window_of(tensor.detach()).copy_(saved)


def _is(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, _NUMBERS) and one == other)


def is_strided(tensor: Tensor) -> bool:
    """Whether it has elements at fixed distances in memory."""
    uninitialised = isinstance(tensor, nn.parameter.UninitializedTensorMixin)
    return not uninitialised and tensor.layout is torch.strided and tensor.device.type in ("cpu", "cuda")
