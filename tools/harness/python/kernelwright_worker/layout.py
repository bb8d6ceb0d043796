"""Tensors as bytes: the window of memory a tensor addresses, copies that keep strides and aliasing, and entries that are checked.

A window reaches from the lowest to the highest element addressed. An entry comes from another process: nothing in it is used before it fits
the memory it points into.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .trees import Untransportable, dtype_name, dtype_named

# Bound here, and called on the class: a tensor object can carry attributes of its own in the place of methods.
_detach, _storage, _offset = Tensor.detach, Tensor.untyped_storage, Tensor.storage_offset
_own_attributes, _OF_TENSORS = vars, frozenset(dir(Tensor))
_is_copied_on_write = getattr(torch._C, "_is_cow_tensor", None)

# Bound before a candidate could put another in its place, whose memory is shared.
_mmap = mmap.mmap

_PAGE = 4096
#: Where torch lets memory on the host begin.
ALIGNMENT = 64
#: What lies around tensors on the host.
GUARD = 0xFF
_MAX_ELEMENTS = 1 << 62
_MAX_DIMENSIONS = 64
#: Types of every size of element that can be indexed and compared bit by bit.
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}


@dataclass(frozen=True)
class Layout:
    """How a window is read: strides are in elements and not negative, `nbytes` is the window's length."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    nbytes: int

    @classmethod
    def of(cls, tensor: Tensor) -> Layout:
        """The layout of a strided tensor."""
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        return cls(tensor.dtype, shape, strides, _elements(shape, strides) * tensor.dtype.itemsize)

    @classmethod
    def parse(cls, entry: dict[str, Any]) -> Layout:
        """Reads and checks a tensor entry; raises `Untransportable`."""
        dtype = dtype_named(entry.get("dtype"))
        shape, strides = _sizes(entry.get("shape")), _sizes(entry.get("strides"))
        if len(shape) != len(strides) or len(shape) > _MAX_DIMENSIONS or math.prod(shape) > _MAX_ELEMENTS:
            raise Untransportable(f"a tensor of shape {list(shape)} and strides {list(strides)}")
        nbytes = _elements(shape, strides) * dtype.itemsize
        if nbytes > _MAX_ELEMENTS or entry.get("nbytes") != nbytes:
            raise Untransportable(f"a tensor that needs {nbytes} bytes in a window of {entry.get('nbytes')}")
        return cls(dtype, shape, strides, nbytes)

    def entry(self, **place: Any) -> dict[str, Any]:
        """The tensor entry, with `place` telling where the window lies."""
        shape, strides = [int(n) for n in self.shape], [int(n) for n in self.strides]
        return {"dtype": dtype_name(self.dtype), "shape": shape, "strides": strides, "nbytes": self.nbytes, **place}

    def over(self, window: Tensor) -> Tensor:
        """The tensor over a window: a flat byte tensor of at least `nbytes`. It is no view, so nothing leads back to the window."""
        return _over(window, self.dtype, self.shape, self.strides)


def _over(window: Tensor, dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    offset, rest = divmod(window.storage_offset(), dtype.itemsize)
    if rest:
        raise Untransportable(f"a window of {dtype_name(dtype)} that is not aligned")
    return torch.empty(0, dtype=dtype, device=window.device).set_(window.untyped_storage(), offset, shape, strides)


def _elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))


def _sizes(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(n) is not int or not 0 <= n <= _MAX_ELEMENTS for n in value):
        raise Untransportable(f"a shape or strides of {value!r}")
    return tuple(value)


def window_of(tensor: Tensor) -> Tensor:
    """The bytes of a strided tensor's window as a flat uint8 tensor over the same memory."""
    layout = Layout.of(tensor)
    start = tensor.storage_offset() * tensor.dtype.itemsize
    empty = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return empty.set_(tensor.untyped_storage(), start if layout.nbytes else 0, (layout.nbytes,), (1,))


def skew_of(tensor: Tensor) -> int:
    """How many bytes behind an aligned address it begins, as what is cut out of another tensor does: whoever loads whole vectors has to mind it."""
    return tensor.storage_offset() * tensor.dtype.itemsize % ALIGNMENT


def fresh_copy(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy in memory of its own on `device`, with the same strides and aliasing, on the host as far behind an aligned address. Every page of it has been
    written."""
    return _fresh(tensor, device)[0]


def guarded_copy(tensor: Tensor) -> Tensor:
    """The same on the host, between pages of bytes that are NaN in every floating type: what is read beyond the tensor shows, even times zero."""
    source, skew = window_of(tensor), skew_of(tensor)
    end = _PAGE + skew + source.numel()
    memory = _mmap(-1, -(-end // _PAGE) * _PAGE + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    around = torch.frombuffer(memory, dtype=torch.uint8)
    around[: _PAGE + skew], around[end:] = GUARD, GUARD
    # Of a storage of its own, as the others are.
    window = torch.frombuffer(memory, dtype=torch.uint8, count=end - _PAGE, offset=_PAGE)[skew:] if source.numel() else around.new_empty(0)
    window.copy_(source)
    copy = Layout.of(tensor).over(window)
    return copy.requires_grad_(True) if tensor.requires_grad else copy


def editable_copy(tensor: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    """A fresh copy, and a tensor over the same memory in which every element stands once, to change it through.

    Where elements overlap (expanded tensors) the second one is the flat window, so that writes reach each element once.
    """
    copy, window = _fresh(tensor, device)
    if not overlaps(tensor):
        return copy, copy.detach()
    elements = window.numel() // tensor.dtype.itemsize
    return copy, _over(window, tensor.dtype, (elements,), (1,))


def _fresh(tensor: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    source = window_of(tensor)
    skew = skew_of(tensor) if torch.device(device).type == "cpu" else 0
    window = torch.empty(skew + source.numel(), dtype=torch.uint8, device=device)[skew:]
    window.copy_(source)
    copy = Layout.of(tensor).over(window)
    if tensor.requires_grad:
        copy.requires_grad_(True)
    return copy, window


def indices_of(places: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """The indices of elements that are counted in their order, an index for each dimension: `torch.unravel_index`, whose first call in a process
    imports an algebra system for more than a second."""
    indices = []
    for length in reversed(shape):
        indices.append(places % length)
        places = places.div(length, rounding_mode="floor")
    return tuple(reversed(indices))


def overlaps(tensor: Tensor) -> bool:
    """Whether two indices may address one element; errs on the side of yes."""
    reach = 0
    for stride, n in sorted((stride, n) for stride, n in zip(tensor.stride(), tensor.shape) if n > 1):
        if stride <= reach:
            return True
        reach += (n - 1) * stride
    return False


def can_scale(tensor: Tensor) -> bool:
    """Whether arithmetic is defined on the tensor's values: floating or complex, of two bytes or more."""
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype.itemsize >= 2


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of one device have the same dtype, shape and bits; a NaN equals itself."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (a.detach(), b.detach()))
    words = WORDS[a.dtype.itemsize]
    return torch.equal(a.contiguous().view(words), b.contiguous().view(words))


def has_memory(tensor: Tensor) -> bool:
    """Whether a plain tensor lies within its storage. Where it does not, torch would make room on the next use, often where its values still lie."""
    nbytes = Layout.of(tensor).nbytes
    return nbytes == 0 or _storage(tensor).nbytes() >= _offset(tensor) * tensor.dtype.itemsize + nbytes


def ordinary_tensors(value: Any, depth: int = 8) -> Iterator[Tensor]:
    """The strided tensors in containers of Python's own, no further down than any honest output has them: whatever else there is may run code of its own when it
    is asked."""
    if type(value) is Tensor:
        if value.layout is torch.strided and has_memory(value):
            yield value
    elif depth and type(value) in (list, tuple, dict):
        for item in value.values() if type(value) is dict else value:
            yield from ordinary_tensors(item, depth - 1)


def is_lazy_copy(tensor: Tensor) -> bool:
    """Whether it shares another tensor's memory until somebody writes, or asks where it lies."""
    return _is_copied_on_write is not None and bool(_is_copied_on_write(tensor))


def admit_plain(tensor: Tensor) -> Tensor:
    """The tensor whose memory says all about it, or `Untransportable`: no subclasses, no methods of its own, no lazy or sparse layouts or copies, no memory
    given back."""
    if type(tensor) not in (Tensor, torch.nn.Parameter):
        kind = type(tensor)
        raise Untransportable(f"a tensor subclass, {kind.__module__}.{kind.__qualname__}")
    for name in _own_attributes(tensor):
        if name in _OF_TENSORS:
            raise Untransportable(f"a tensor with an attribute of its own in the place of `{name}`")
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type not in ("cpu", "cuda"):
        raise Untransportable(f"a tensor of layout {tensor.layout} on {tensor.device.type}; plain strided tensors are needed")
    if not has_memory(tensor):
        raise Untransportable("a tensor whose storage does not hold it")
    if is_lazy_copy(tensor):
        raise Untransportable("a lazy copy, whose values are copied when somebody asks where they lie")
    # Conjugation and negation may be pending: only then does the memory hold other values than the tensor.
    return _detach(tensor).resolve_conj().resolve_neg()
