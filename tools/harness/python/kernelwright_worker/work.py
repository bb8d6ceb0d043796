"""What one call of a problem has to move and to compute, whatever kernels do it: seen by torch's dispatcher while the reference runs once.

Bytes are those that the call takes from tensors that were there before it (inputs, parameters, constants of the module) and those of the
tensors it returns, each once; what lies in between could stay in registers. Operations are those of the reference's own matrix products,
convolutions and attention, by torch's formulas: algebra may do with fewer.

Limits: code that takes a tensor's memory by itself (numpy, ctypes) is not seen; for numpy all inputs are counted.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from .trees import dtype_name, tensors_of

#: They read no more of their first argument than they return.
_GATHERERS = {"embedding", "gather", "index", "index_select", "take", "_unsafe_index", "embedding_bag", "_embedding_bag"}


def work_of(call: Callable[[], object], inputs: list[Any], sees_inputs: bool) -> dict[str, Any] | None:
    """`bytes` and `operations` by dtype of one call, which is made; nothing where it does not run under observation.

    `sees_inputs`: whether the call works on its inputs as tensors.
    """
    watch = _Watch()
    before = {id(tensor): tensor._version for tensor in tensors_of(inputs)}
    try:
        with _mode(watch):
            outputs = call()
    except Exception:
        return None
    nbytes = watch.read_bytes() if sees_inputs else sum(map(_distinct_bytes, tensors_of(inputs)))
    written: dict[tuple[int, int], int] = {}
    for tensor in tensors_of(outputs):
        # A view of an input costs nothing, an input that was written to does.
        if _storage(tensor) in watch.made or before.get(id(tensor), tensor._version) != tensor._version or not sees_inputs:
            written[_storage(tensor), tensor.storage_offset()] = _distinct_bytes(tensor)
    return {"bytes": nbytes + sum(written.values()), "operations": dict(watch.operations)}


def _mode(watch: _Watch) -> TorchDispatchMode:
    """The mode that shows a watch every operator."""

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            return watch.run(func, args, kwargs or {})

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # To hide a mode from torch's compiler all of it is imported: seconds, and in vain where nothing is compiled.
            return "torch._dynamo" in sys.modules

    return Mode()


class _Watch:
    """Which tensors from before the call are read, and what is computed."""

    def __init__(self) -> None:
        from torch.utils.flop_counter import flop_registry

        self._formulas = flop_registry
        #: Storages that the call has made. One that is freed makes room for another of the call's own: older tensors stay where they are.
        self.made: set[int] = set()
        self.operations: dict[str, float] = defaultdict(float)
        # By storage: its size, and the bytes read of each part of it.
        self._read: dict[int, tuple[int, dict[tuple, int]]] = {}

    def read_bytes(self) -> int:
        """Bytes of older tensors, each once: parts that overlap count as much as their storage holds at most."""
        return sum(min(size, sum(parts.values())) for size, parts in self._read.values())

    def run(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """What the operator returns."""
        out = func(*args, **kwargs)
        operands = _tensors([args, kwargs])
        results = _tensors(out)
        storages = {_storage(tensor) for tensor in operands}
        packet = getattr(func, "_overloadpacket", func)
        name = getattr(packet, "__name__", str(packet))
        is_view = results and not _mutates(func) and all(_storage(tensor) in storages for tensor in results)
        if not is_view and not name.endswith("_like") and not name.startswith("new_"):
            limit = sum(map(_distinct_bytes, results)) if name in _GATHERERS else None
            for tensor in operands:
                self._note(tensor, limit)
        self.made.update(_storage(tensor) for tensor in results if _storage(tensor) not in storages)
        if packet in self._formulas and operands:
            self.operations[dtype_name(operands[0].dtype)] += float(self._formulas[packet](*args, **kwargs, out_val=out))
        return out

    def _note(self, tensor: Tensor, limit: int | None) -> None:
        storage = _storage(tensor)
        if storage in self.made:
            return
        nbytes = _distinct_bytes(tensor)
        part = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
        _, parts = self._read.setdefault(storage, (tensor.untyped_storage().nbytes(), {}))
        parts[part] = max(parts.get(part, 0), nbytes if limit is None else min(limit, nbytes))


def _mutates(func: Any) -> bool:
    schema = getattr(func, "_schema", None)
    return bool(schema is not None and schema.is_mutable)


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _distinct_bytes(tensor: Tensor) -> int:
    """The bytes of its elements; those of an expanded dimension lie in the same place."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        count *= size if stride != 0 or size == 0 else 1
    return count * tensor.element_size()


def _tensors(value: Any) -> list[Tensor]:
    """The dense tensors in the arguments or the results of an operator."""
    if isinstance(value, Tensor):
        return [value] if value.layout is torch.strided else []
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, (list, tuple)) else []
