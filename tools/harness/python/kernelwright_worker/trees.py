"""Values between processes: JSON trees with the tensors taken out (see "Values" in WORKERS.md).

Only data passes: a value of any other type is refused, so no code and no object of a candidate reaches another process.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from types import MemberDescriptorType
from typing import Any

import torch
from torch import Tensor

Tree = Any
#: Deeper values are refused: they are cycles more often than data.
MAX_DEPTH = 64
_EXACT_INT = 1 << 53


#: What a message says of values that are none of these.
_ALLOWED = "allowed are tensors, numbers, strings, None, dtypes and devices, and lists, tuples, dicts, named tuples and dataclasses of these"
#: The most characters of a path, and of one key in it, that a message shows.
_MOST_PATH, _MOST_KEY = 200, 40


class Untransportable(Exception):
    """A value that cannot travel, or a tree that is not well formed; the message names it."""

    #: Where it is in the value that was to travel, as `[1]["last"]`, and what to do about it.
    path, advice = "", ""

    def __str__(self) -> str:
        return super().__str__() + (f" at {self.path}" if self.path else "") + (f"; {self.advice}" if self.advice else "")

    def inside(self, key: Tree) -> None:
        """Says that the value is the item of this number, or under this key, of another one."""
        if len(self.path) < _MOST_PATH:
            text = str(key)[:_MOST_KEY]
            self.path = (f'["{text}"]' if isinstance(key, str) else f"[{text}]") + self.path


def encode(value: object, tensors: list[Tensor], admit: Callable[[Tensor], Tensor]) -> Tree:
    """The tree of `value`; its tensors are appended to `tensors`, each object once.

    `admit` sees every tensor first and returns the one to record, or raises `Untransportable`.
    """
    known: dict[int, int] = {}
    seen: list[Tensor] = []  # keeps the objects alive, so that no two share an id

    def tensor_index(tensor: Tensor) -> int:
        if id(tensor) not in known:
            tensors.append(admit(tensor))
            seen.append(tensor)
            known[id(tensor)] = len(tensors) - 1
        return known[id(tensor)]

    return _encode(value, tensor_index, 0)


def _encode(value: Any, tensor_index: Callable[[Tensor], int], depth: int) -> Tree:
    if depth > MAX_DEPTH:
        raise Untransportable(f"a value nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Tensor):
        return {"tensor": tensor_index(value)}
    if isinstance(value, int):
        return int(value) if abs(value) <= _EXACT_INT else {"int": str(int(value))}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, complex):
        return {"complex": [_encode(value.real, tensor_index, depth), _encode(value.imag, tensor_index, depth)]}
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()
    if isinstance(value, torch.Size):
        return {"size": [int(n) for n in value]}
    # A container is read through its base type: a subclass could compute what it holds only when somebody looks.
    if isinstance(value, (list, tuple)):
        name, items = ("list", list.__iter__(value)) if isinstance(value, list) else ("tuple", tuple.__iter__(value))
        return {name: [_encode_item(i, item, tensor_index, depth + 1) for i, item in enumerate(items)]}
    if isinstance(value, dict) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        pairs = dict.items(value) if isinstance(value, dict) else _fields(value)
        keyed = ((_encode(key, tensor_index, depth + 1), item) for key, item in pairs)
        return {"dict": [[key, _encode_item(key, item, tensor_index, depth + 1)] for key, item in keyed]}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    number = _number(value)
    if number is not None:
        return _encode(number, tensor_index, depth)
    kind = type(value)
    refused = Untransportable(f"a value of type {kind.__module__}.{kind.__qualname__}")
    refused.advice = _ALLOWED
    raise refused


def _encode_item(key: Tree, item: Any, tensor_index: Callable[[Tensor], int], depth: int) -> Tree:
    try:
        return _encode(item, tensor_index, depth)
    except Untransportable as error:
        error.inside(key)
        raise


def _number(value: Any) -> bool | int | float | complex | None:
    """The Python number that one of numpy's own scalars stands for; None for anything else, subclasses of those scalars included."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) not in numpy.sctypeDict.values():
        return None
    for kind, plain in ((numpy.bool_, bool), (numpy.integer, int), (numpy.floating, float), (numpy.complexfloating, complex)):
        if isinstance(value, kind):
            return plain(value)
    return None


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The stored fields of a dataclass; `Untransportable` for one that computes them."""
    stored = getattr(type(value), "__dictoffset__", 0) and object.__getattribute__(value, "__dict__")
    for item in dataclasses.fields(value):
        slot = getattr(type(value), item.name, None)
        if stored and item.name in stored:
            yield item.name, stored[item.name]
        elif isinstance(slot, MemberDescriptorType):
            yield item.name, slot.__get__(value)
        else:
            raise Untransportable(f"a dataclass whose field `{item.name}` is computed")


def decode(tree: Tree, tensors: list[Tensor]) -> Any:
    """The value of a tree; raises `Untransportable` for a tree that is not well formed."""
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    if not isinstance(tree, dict) or len(tree) != 1:
        raise Untransportable("a malformed tree")
    ((kind, content),) = tree.items()
    try:
        return _decode(kind, content, tensors)
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
        raise Untransportable(f"a malformed tree ({kind}: {error})") from error


def _decode(kind: str, content: Any, tensors: list[Tensor]) -> Any:
    match kind:
        case "tensor" if type(content) is int and 0 <= content < len(tensors):
            return tensors[content]
        case "list":
            return [decode(item, tensors) for item in content]
        case "tuple":
            return tuple(decode(item, tensors) for item in content)
        case "dict":
            return {decode(key, tensors): decode(item, tensors) for key, item in content}
        case "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
        case "int":
            return int(content)
        case "complex":
            real, imaginary = (decode(item, tensors) for item in content)
            return complex(real, imaginary)
        case "size":
            return torch.Size(int(n) for n in content)
        case "dtype":
            return dtype_named(content)
        case "device":
            return torch.device(content)
    raise Untransportable(f"a malformed tree ({kind})")


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """`value` with every tensor changed, each object once. Containers come back as plain lists, tuples and dicts, as after a transport."""
    tensors: list[Tensor] = []
    tree = encode(value, tensors, lambda tensor: tensor)
    return decode(tree, [change(tensor) for tensor in tensors])


def map_floats(value: Any, change: Callable[[float], float]) -> Any:
    """`value` with every finite Python float changed, in the order of the tree; keys of dicts stay."""
    tensors: list[Tensor] = []
    tree = encode(value, tensors, lambda tensor: tensor)
    return decode(_with_floats(tree, change), tensors)


def _with_floats(tree: Tree, change: Callable[[float], float]) -> Tree:
    if isinstance(tree, float):
        return change(tree)
    match tree:
        case {"list": items}:
            return {"list": [_with_floats(item, change) for item in items]}
        case {"tuple": items}:
            return {"tuple": [_with_floats(item, change) for item in items]}
        case {"dict": pairs}:
            return {"dict": [[key, _with_floats(item, change)] for key, item in pairs]}
    return tree


def floats_of(value: object) -> list[float]:
    """Every finite Python float in `value`, in the order of the tree."""
    found: list[float] = []

    def note(number: float) -> float:
        found.append(number)
        return number

    map_floats(value, note)
    return found


def tensors_of(value: object) -> list[Tensor]:
    """Every tensor in `value`, each object once, in the order of the tree."""
    tensors: list[Tensor] = []
    encode(value, tensors, lambda tensor: tensor)
    return tensors


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def dtype_named(name: object) -> torch.dtype:
    """The opposite of `dtype_name`."""
    dtype = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(dtype, torch.dtype):
        raise Untransportable(f"a dtype {name!r}")
    return dtype


def describe(tensor: Tensor) -> str:
    """A tensor in words: `float32[4096, 4096]`, with the strides where it is not contiguous."""
    text = f"{dtype_name(tensor.dtype)}{list(tensor.shape)}"
    return text if tensor.is_contiguous() else f"{text} strides {list(tensor.stride())}"


def describe_value(value: object, path: str = "") -> list[str]:
    """One line per leaf of `value`."""
    if isinstance(value, Tensor):
        return [path + describe(value)]
    if isinstance(value, (list, tuple)):
        return [line for i, item in enumerate(value) for line in describe_value(item, f"{path}[{i}] ")]
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in describe_value(item, f"{path}[{key!r}] ")]
    return [f"{path}{type(value).__name__} {str(value)[:80]}"]
