"""Batches of timed calls: fresh inputs placed before, nothing but the calls between two clocks, every output kept for verification.

Both roles time through this code, so both keep the same things alive and pay the same costs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .device import Device
from .layout import Layout, fresh_copy, window_of
from .recipes import Recipe, apply
from .trees import map_tensors, tensors_of

#: Tensors with fewer elements are copied by one thread.
_SMALL = 1 << 19


class Batch:
    """The placed inputs of a batch and the outputs of its calls."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._placed: dict[int, list[Any]] = {}
        # Memory that the supervisor writes inputs into, for each call of the longest batch so far.
        self._rooms: list[list[Tensor]] = []
        self._outputs: dict[int, Any] = {}
        # Bound now: what a candidate does to these modules later does not change what is called.
        self._collect, self._freeze, self._gc_disable, self._gc_enable = gc.collect, gc.freeze, gc.disable, gc.enable
        self._clock, self._no_grad = perf_counter_ns, torch.no_grad

    def place(self, specifications: object, base_inputs: Callable[[int], list[Any]]) -> int:
        """Drops the last batch and makes the inputs of the next, or room for them; their size in bytes."""
        if not isinstance(specifications, list):
            raise WorkerError("internal", "place", "`entries` is no list")
        self._drop()
        size = 0
        bases = [base_inputs(base) for base in {item["base"] for item in specifications}]
        with self._device.alone() if self._is_small(tensors_of(bases)) else nullcontext():
            for index, item in enumerate(specifications):
                if item.get("reserve"):
                    inputs = self._reserve(index, base_inputs(item["base"]))
                else:
                    inputs = apply(base_inputs(item["base"]), Recipe.parse(item.get("recipe")), self._device.torch)
                self._placed[item["entry"]] = inputs
                size += sum(tensor.numel() * tensor.dtype.itemsize for tensor in tensors_of(inputs))
        self._device.flush_cache()
        self._device.synchronize()
        return size

    def refill(self, entries: list[int], like: list[Any]) -> None:
        """Drops the last batch and gives every entry inputs with these values, in the memory that rooms have: as the candidate's are."""
        self._drop()
        with self._device.alone() if self._is_small(tensors_of(like)) else nullcontext():
            for index, entry in enumerate(entries):
                self._placed[entry] = self._reserve(index, like)
                for tensor, room in zip(tensors_of(like), self._rooms[index], strict=True):
                    room.copy_(window_of(tensor.detach()))
        self._device.synchronize()

    def _reserve(self, index: int, like: list[Any]) -> list[Any]:
        """Tensors like these over memory of their own, of which every page is there; what lies in it says nothing."""
        if index == len(self._rooms):
            self._rooms.append([window_of(fresh_copy(tensor.detach(), self._device.torch)) for tensor in tensors_of(like)])
        rooms = iter(self._rooms[index])
        # What a call does to a tensor object stays with that object.
        return map_tensors(like, lambda tensor: Layout.of(tensor).over(next(rooms)).requires_grad_(tensor.requires_grad))

    def _is_small(self, tensors: list[Tensor]) -> bool:
        return not self._device.is_cuda and all(tensor.numel() < _SMALL for tensor in tensors)

    def time(self, call: Callable[..., Any], entries: object) -> int:
        """Runs `call` once on each entry's inputs; nanoseconds from an idle device to an idle device.

        A GPU that another process has used last takes a while to come back to this one, so it is used before the clock starts.
        """
        if not isinstance(entries, list) or any(entry not in self._placed for entry in entries):
            raise WorkerError("internal", "time", f"calls {entries!r} of which not all are placed")
        inputs = [self._placed[entry] for entry in entries]
        self._outputs.clear()
        outputs: list[Any] = []
        self._device.flush_cache()
        clock, synchronize = self._clock, self._device.synchronize
        self._gc_disable()
        try:
            with self._no_grad():
                synchronize()
                start = clock()
                for arguments in inputs:
                    outputs.append(call(*arguments))
                synchronize()
                end = clock()
        finally:
            self._gc_enable()
        self._outputs = dict(zip(entries, outputs))
        return end - start

    def outputs(self) -> list[Any]:
        """What the timed calls returned, in their order."""
        return list(self._outputs.values())

    def all_inputs(self) -> list[list[Any]]:
        """The inputs of every call, in the order they were placed."""
        return list(self._placed.values())

    def inputs(self, entry: int) -> list[Any] | None:
        """The placed inputs of an entry, as its call left them."""
        return self._placed.get(entry)

    def settle(self) -> None:
        """Tells the collector that what is there now will stay: looking through all of torch takes longer than most batches."""
        self._collect()
        self._freeze()

    def clear(self) -> None:
        """Drops inputs and outputs, and what the collector finds."""
        self._rooms.clear()
        self._drop()

    def _drop(self) -> None:
        """Drops the last batch, and what the collector finds, so that it finds nothing while time runs."""
        self._placed.clear()
        self._outputs.clear()
        self._collect()
