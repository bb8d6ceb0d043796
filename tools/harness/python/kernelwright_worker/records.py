"""Values whose parts have names: dataclasses, named tuples, and the plain objects that hold many a configuration.

The arguments of a problem may be such values. Its own side keeps their classes. A candidate, which has nothing of the problem's code, gets classes that are
made for it: of the same names and parts, and with what properties and class attributes gave where the arguments were made, but without methods.
"""

from __future__ import annotations

import argparse
import dataclasses
import types
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

#: The module that a problem file is; objects of its classes are records.
PROBLEM_MODULE = "kernelwright_problem"
#: The classes of this process, by the names that trees have for them.
_classes: dict[str, type] = {}


@dataclasses.dataclass(frozen=True)
class Record:
    """What such a value consists of."""

    #: "dataclass", "tuple" or "object".
    kind: str
    #: Its class: the module, a colon and the name.
    name: str
    parts: list[tuple[str, Any]]

    @classmethod
    def of(cls, value: Any) -> Record | None:
        """The record that a value is; nothing for any other value. Only what is stored is read, and no code of the value's class runs."""
        kind = type(value)
        if isinstance(value, tuple):
            names = getattr(kind, "_fields", None)
            if not isinstance(names, tuple) or len(names) != tuple.__len__(value):
                return None
            return cls("tuple", _known(kind), list(zip(names, tuple.__iter__(value))))
        if dataclasses.is_dataclass(value) and not isinstance(value, (type, dict)):
            return cls("dataclass", _known(kind), list(_fields(value)))
        if isinstance(value, (types.SimpleNamespace, argparse.Namespace)) or (kind.__module__ == PROBLEM_MODULE and _is_data(value)):
            return cls("object", _known(kind), list(object.__getattribute__(value, "__dict__").items()))
        return None

    def computed(self, value: Any) -> Iterator[tuple[str, Any]]:
        """What else can be read from the value: its properties and the data of its class. A property that raises has nothing to read."""
        stored = {name for name, _item in self.parts}
        for name in dir(type(value)):
            if name.startswith("_") or name in stored:
                continue
            try:
                item = getattr(value, name)
            except Exception:
                continue
            if not callable(item):
                yield name, item


class ComputedField(Exception):
    """A field of a dataclass that is not stored; the message is its name."""


def _known(kind: type) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    _classes[name] = kind
    return name


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The stored fields of a dataclass; `ComputedField` for one that computes them."""
    stored = getattr(type(value), "__dictoffset__", 0) and object.__getattribute__(value, "__dict__")
    for item in dataclasses.fields(value):
        slot = getattr(type(value), item.name, None)
        if stored and item.name in stored:
            yield item.name, stored[item.name]
        elif isinstance(slot, types.MemberDescriptorType):
            yield item.name, slot.__get__(value)
        else:
            raise ComputedField(item.name)


def _is_data(value: Any) -> bool:
    """Whether an object is there for what it holds."""
    if isinstance(value, (Enum, Iterable)) or callable(value) or not getattr(type(value), "__dictoffset__", 0):
        return False
    return not any(hasattr(base, "__slots__") and base.__slots__ for base in type(value).__mro__)


def members(value: Any) -> Iterable[Any] | None:
    """The items of a container or record; nothing for any other value."""
    record = Record.of(value)
    if record is not None:
        return [item for _name, item in record.parts]
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else None


def put_together(kind: str, name: str, parts: list[tuple[str, Any]], computed: list[tuple[str, Any]]) -> Any:
    """The record of these parts, of the class that this process has by that name, or of one that is made for it."""
    names = [part for part, _item in parts]
    if name not in _classes:
        _classes[name] = _made(kind, name.rpartition(":")[2], names)
    own = _classes[name]
    value = tuple.__new__(own, [item for _part, item in parts]) if kind == "tuple" else own.__new__(own)
    for part, item in [*(parts if kind != "tuple" else []), *computed]:
        object.__setattr__(value, part, item)
    return value


def _made(kind: str, qualified: str, names: list[str]) -> type:
    name = qualified.rpartition(".")[2]
    if kind == "tuple":
        # A class of its own below it has room for what is computed.
        return type(name, (namedtuple(name, names),), {})
    return dataclasses.make_dataclass(name, names) if kind == "dataclass" else type(name, (types.SimpleNamespace,), {})
