"""Values between processes: JSON trees with the tensors taken out (see "Values" in WORKERS.md).

Only data passes: a value of any other type is refused, so no code and no object of a candidate reaches another process.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .records import ComputedField, Record, put_together

Tree = Any
#: Deeper values are refused: they are cycles more often than data.
MAX_DEPTH = 64
_EXACT_INT = 1 << 53


#: What a message says of values that are none of these.
_ALLOWED = (
    "allowed are tensors, numbers, strings, None, dtypes and devices, and lists, tuples, dicts, named tuples, dataclasses, namespaces "
    "and plain objects of a problem's own classes that hold these"
)
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


def encode(value: object, tensors: list[Tensor], admit: Callable[[Tensor], Tensor], computed: bool = False) -> Tree:
    """The tree of `value`; its tensors are appended to `tensors`, each object once.

    `admit` sees every tensor first and returns the one to record, or raises `Untransportable`. With `computed` the tree tells of records what their
    properties give, too, which runs code of their classes.
    """
    known: dict[int, int] = {}
    seen: list[Tensor] = []  # keeps the objects alive, so that no two share an id

    def tensor_index(tensor: Tensor) -> int:
        if id(tensor) not in known:
            tensors.append(admit(tensor))
            seen.append(tensor)
            known[id(tensor)] = len(tensors) - 1
        return known[id(tensor)]

    return _encode(value, _Way(tensor_index, computed), 0)


class _Way(NamedTuple):
    """How a value is encoded."""

    tensor_index: Callable[[Tensor], int]
    computed: bool


def _encode(value: Any, way: _Way, depth: int) -> Tree:
    if depth > MAX_DEPTH:
        raise Untransportable(f"a value nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Tensor):
        return {"tensor": way.tensor_index(value)}
    if isinstance(value, int):
        return int(value) if abs(value) <= _EXACT_INT else {"int": str(int(value))}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, complex):
        return {"complex": [_encode(value.real, way, depth), _encode(value.imag, way, depth)]}
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()
    if isinstance(value, torch.Size):
        return {"size": [int(n) for n in value]}
    # A container is read through its base type: a subclass could compute what it holds only when somebody looks.
    record = _record(value)
    if record is not None:
        return {"record": [record.kind, record.name, _encode_pairs(record.parts, way, depth), _computed(record, value, way, depth)]}
    if isinstance(value, (list, tuple)):
        name, items = ("list", list.__iter__(value)) if isinstance(value, list) else ("tuple", tuple.__iter__(value))
        return {name: [_encode_item(i, item, way, depth + 1) for i, item in enumerate(items)]}
    if isinstance(value, dict):
        return {"dict": _encode_pairs(dict.items(value), way, depth)}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    number = _number(value)
    if number is not None:
        return _encode(number, way, depth)
    kind = type(value)
    refused = Untransportable(f"a value of type {kind.__module__}.{kind.__qualname__}")
    refused.advice = _ALLOWED
    raise refused


def _encode_pairs(pairs: Iterable[tuple[Any, Any]], way: _Way, depth: int) -> list[list[Tree]]:
    keyed = ((_encode(key, way, depth + 1), item) for key, item in pairs)
    return [[key, _encode_item(key, item, way, depth + 1)] for key, item in keyed]


def _encode_item(key: Tree, item: Any, way: _Way, depth: int) -> Tree:
    try:
        return _encode(item, way, depth)
    except Untransportable as error:
        error.inside(key)
        raise


def _record(value: Any) -> Record | None:
    try:
        return Record.of(value)
    except ComputedField as error:
        raise Untransportable(f"a dataclass whose field `{error}` is computed") from error


def _computed(record: Record, value: Any, way: _Way, depth: int) -> list[list[Tree]]:
    """What can be read from a record beside its parts, but for tensors, of which a candidate has those that are stored, and for what cannot travel."""
    found: list[list[Tree]] = []
    for name, item in record.computed(value) if way.computed else ():
        try:
            found.append([name, _encode(item, _Way(_no_tensor, False), depth + 1)])
        except Untransportable:
            continue
    return found


def _no_tensor(_tensor: Tensor) -> int:
    raise Untransportable("a tensor that is computed")


def _number(value: Any) -> bool | int | float | complex | None:
    """The Python number that one of numpy's own scalars stands for; None for anything else, subclasses of those scalars included."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) not in numpy.sctypeDict.values():
        return None
    for kind, plain in ((numpy.bool_, bool), (numpy.integer, int), (numpy.floating, float), (numpy.complexfloating, complex)):
        if isinstance(value, kind):
            return plain(value)
    return None


def decode(tree: Tree, tensors: list[Tensor], records: bool = False) -> Any:
    """The value of a tree; raises `Untransportable` for a tree that is not well formed. Records become plain tuples and dicts, unless `records` are asked
    for, which only a tree from one's own side may be, or from one that is believed."""
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    if not isinstance(tree, dict) or len(tree) != 1:
        raise Untransportable("a malformed tree")
    ((kind, content),) = tree.items()
    try:
        return _decode(kind, content, tensors, records)
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
        raise Untransportable(f"a malformed tree ({kind}: {error})") from error


def _decode(kind: str, content: Any, tensors: list[Tensor], records: bool) -> Any:
    match kind:
        case "tensor" if type(content) is int and 0 <= content < len(tensors):
            return tensors[content]
        case "list":
            return [decode(item, tensors, records) for item in content]
        case "tuple":
            return tuple(decode(item, tensors, records) for item in content)
        case "dict":
            return {decode(key, tensors, records): decode(item, tensors, records) for key, item in content}
        case "record":
            kind, name, *both = content
            parts, computed = ([(str(key), decode(item, tensors, records)) for key, item in pairs] for pairs in both)
            if records:
                return put_together(kind, name, parts, computed)
            return tuple(item for _name, item in parts) if kind == "tuple" else dict(parts)
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
    """`value` with every tensor changed, each object once. Containers come back as plain lists, tuples and dicts, records as what they were."""
    tensors: list[Tensor] = []
    tree = encode(value, tensors, lambda tensor: tensor)
    return decode(tree, [change(tensor) for tensor in tensors], records=True)


def plain(value: Any) -> Any:
    """`value` with tuples and dicts in the place of records."""
    tensors: list[Tensor] = []
    return decode(encode(value, tensors, lambda tensor: tensor), tensors)


def map_floats(value: Any, change: Callable[[float], float]) -> Any:
    """`value` with every finite Python float changed, in the order of the tree; keys of dicts stay."""
    tensors: list[Tensor] = []
    tree = encode(value, tensors, lambda tensor: tensor)
    return decode(_with_floats(tree, change), tensors, records=True)


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
        case {"record": [kind, name, parts, computed]}:
            return {"record": [kind, name, [[key, _with_floats(item, change)] for key, item in parts], computed]}
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


def leaf_tensors(value: object) -> list[Tensor]:
    """The tensors in `value` as often as they are there, those of a dict in the order of its keys: two sides may have put them there in another one."""
    tensors: list[Tensor] = []
    return [tensors[index] for index in _leaves(encode(value, tensors, lambda tensor: tensor))]


def _leaves(tree: Tree) -> Iterator[int]:
    if isinstance(tree, list):
        for item in tree:
            yield from _leaves(item)
    elif isinstance(tree, dict):
        if "tensor" in tree:
            yield tree["tensor"]
        elif "dict" in tree:
            for _key, item in sorted(tree["dict"], key=lambda pair: json.dumps(pair[0], ensure_ascii=False, separators=(",", ":"))):
                yield from _leaves(item)
        else:
            for item in tree.values():
                yield from _leaves(item)


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def dtype_named(name: object) -> torch.dtype:
    """The opposite of `dtype_name`."""
    dtype = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(dtype, torch.dtype):
        raise Untransportable(f"no dtype of torch: {name!r}")
    return dtype


def describe(tensor: Tensor) -> str:
    """A tensor in words: `float32[4096, 4096]`, with the strides where it is not contiguous."""
    text = f"{dtype_name(tensor.dtype)}{list(tensor.shape)}"
    return text if tensor.is_contiguous() else f"{text} strides {list(tensor.stride())}"


def describe_value(value: object, path: str = "") -> list[str]:
    """One line per leaf of `value`."""
    if isinstance(value, Tensor):
        return [path + describe(value)]
    record = _record(value)
    if record is not None:
        return [line for name, item in record.parts for line in describe_value(item, f"{path}.{name} ")]
    if isinstance(value, (list, tuple)):
        return [line for i, item in enumerate(value) for line in describe_value(item, f"{path}[{i}] ")]
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in describe_value(item, f"{path}[{key!r}] ")]
    return [f"{path}{type(value).__name__} {str(value)[:80]}"]
