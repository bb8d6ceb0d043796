"""Names of the parts of a value, such as `output[1]["mean"]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

#: How the paths of gradients begin, in the results of problems that are trained.
GRADIENTS = tuple(f'output["{kind}_gradients"]' for kind in ("input", "parameter"))


def member(path: str, key: object) -> str:
    """The path of a member of the mapping at a path."""
    return f'{path}["{key}"]' if isinstance(key, str) else f"{path}[{key!r}]"


def named_tensors(value: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of a value with its path."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from named_tensors(item, f"{path}[{i}]")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_tensors(item, member(path, key))


def tensor_at(value: Any, path: str) -> Tensor | None:
    """The tensor of a value at a path."""
    return dict(named_tensors(value, path.split("[", 1)[0])).get(path)
