"""Where the tensors of many calls lie, said briefly: what they look like once per form, then addresses.

A batch may have thousands of calls, and naming their outputs counts as their time, so the ordinary cases (a tensor, a list of tensors) are
short. Addresses are given for every call at once: the supervisor chooses afterwards which of them it reads, out of a process that stands.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import torch
from torch import Tensor

from . import cuda_ipc
from .layout import Layout, admit_plain, fresh_copy, has_memory, is_lazy_copy
from .trees import Tree, Untransportable, encode

# Bound here, and called on the class: a tensor object can carry attributes of its own in the place of methods.
_address, _strides, _numel, _is_conj, _is_neg = Tensor.data_ptr, Tensor.stride, Tensor.numel, Tensor.is_conj, Tensor.is_neg

#: In the place of a tree that is made only for a new form. `None` is a tree: a call that works in place returns nothing.
_PLAIN = object()
#: What tells its items by itself: torch's own named tuples too, which its maxima and sorted values come in.
_SEQUENCES = frozenset({list, tuple, *(kind for kind in vars(torch.return_types).values() if isinstance(kind, type) and issubclass(kind, tuple))})


class Locations:
    """The forms and addresses of calls that were added, in their order."""

    def __init__(self, blocks: cuda_ipc.Blocks) -> None:
        self._forms: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}
        self._calls: list[list[int]] = []
        self._found = _Found(blocks)
        #: What was made here and has to stay until it was read.
        self.kept: list[Tensor] = []

    def add(self, value: Any) -> None:
        """Adds what one call returned, or was given; raises `Untransportable` for what is no data."""
        kind = type(value)
        if kind is Tensor:
            tensors = [value]
        elif kind in _SEQUENCES and all(type(item) is Tensor for item in value):
            tensors = value
        else:
            tensors = None
        keys = None if tensors is None else [_key(tensor) for tensor in tensors]
        if keys is None or None in keys:
            tensors = []
            tree = encode(value, tensors, admit_plain)
            self.kept.extend(tensors)
            keys, key = [_key(tensor) for tensor in tensors], repr(tree)
        else:
            tree, key = _PLAIN, kind
        form = self._known.setdefault((key, *keys), len(self._forms))
        if form == len(self._forms):
            self._forms.append({"outputs": _tree(value) if tree is _PLAIN else tree, "tensors": [_entry(tensor) for tensor in tensors]})
        self._calls.append([form, *[self._place(tensor) for tensor in tensors]])

    def _place(self, tensor: Tensor) -> int:
        if tensor.device.type == "cpu" or not _numel(tensor):
            return _address(tensor)
        try:
            self._found.find(_address(tensor), tensor.device.index)
        except cuda_ipc.DriverError:
            if not has_memory(tensor):
                raise Untransportable("a tensor whose storage does not hold it") from None
            # Memory of another allocator (a pool, a graph, an expandable segment) cannot be opened elsewhere; a copy can.
            tensor = fresh_copy(tensor, tensor.device)
            self.kept.append(tensor)
            torch.cuda.synchronize(tensor.device)
            self._found.find(_address(tensor), tensor.device.index)
        return _address(tensor)

    def reply(self) -> dict[str, Any]:
        """What the supervisor is told."""
        return {"forms": self._forms, "calls": self._calls, "blocks": self._found.blocks}


class _Found:
    """The blocks in which addresses were found, in the order of their own."""

    def __init__(self, known: cuda_ipc.Blocks) -> None:
        self._known = known
        self._starts: list[int] = []
        self.blocks: list[dict[str, Any]] = []

    def find(self, address: int, device: int) -> None:
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address < self._starts[at] + self.blocks[at]["nbytes"]:
            return
        block = self._known.holding(address, device)
        self._starts.insert(at + 1, block["address"])
        self.blocks.insert(at + 1, block)


def _key(tensor: Tensor) -> Any:
    """What tells a plain tensor's form, or None for one that is not plain."""
    if tensor.layout is not torch.strided or _is_conj(tensor) or _is_neg(tensor) or tensor.is_quantized or is_lazy_copy(tensor):
        return None
    return (tensor.dtype, tensor.shape, _strides(tensor), tensor.device)


def _tree(value: Any) -> Tree:
    if type(value) is Tensor:
        return {"tensor": 0}
    return {"list" if type(value) is list else "tuple": [{"tensor": i} for i in range(len(value))]}


def _entry(tensor: Tensor) -> dict[str, Any]:
    return Layout.of(tensor).entry(requires_grad=False, device=tensor.device.type)
