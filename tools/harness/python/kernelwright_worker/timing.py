"""Batches of timed calls: fresh inputs placed before, nothing but the calls between two clocks, every output kept for verification.

Both roles time through this code, so both keep the same things alive and pay the same costs.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from resource import RUSAGE_SELF, getrusage
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor

from .channel import WorkerError
from .device import Device
from .layout import Layout, fresh_copy
from .recipes import Recipe, apply_each, write_each
from .rooms import Rooms, touch
from .structure import Structure
from .trees import Untransportable, decode, encode, map_tensors, tensors_of

#: Tensors with fewer elements are copied by one thread.
_SMALL = 1 << 19
#: Outputs of fewer bytes a call fit into what malloc holds anyway.
_WORTH_GROWING = 1 << 18
#: Bound now, as what `Batch` binds.
_clone, _map, _next = Tensor.clone, map, next
#: At how many depths of the stack batches run in turns.
_DEPTHS = 16
#: How often memory is taken until that costs next to no page faults, so often in a row.
_GROWTHS, _QUIET, _FEW_FAULTS = 8, 2, 64


class Batch:
    """The placed inputs of a batch and the outputs of its calls."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._placed: dict[int, list[Any]] = {}
        #: The inputs of the batch's calls, in the order in which they are made: what is done for each call beside the clock counts as the candidate's time.
        self._calls: tuple[list[Any], ...] = ()
        self._rooms = Rooms(device.torch)
        self._outputs: list[Any] = []
        #: How many calls of a batch have begun.
        self._begun = array("Q", [0])
        #: How deep in the stack the last batch ran.
        self._depth = 0
        #: Bytes of what one call returns, and for how many calls malloc holds that.
        self._sizes: list[int] = []
        self._grown = 0
        # Bound now: what a candidate does to these modules later does not change what is called.
        self._collect, self._freeze, self._gc_disable, self._gc_enable = gc.collect, gc.freeze, gc.disable, gc.enable
        self._clock, self._no_grad = perf_counter_ns, torch.no_grad

    def place(self, specifications: object, base_inputs: Callable[[int], list[Any]]) -> None:
        """Drops the last batch and makes the inputs of the next, or room for them."""
        if not isinstance(specifications, list):
            raise WorkerError("internal", "place", "`entries` is no list")
        self._drop()
        bases = {item["base"]: base_inputs(item["base"]) for item in specifications}
        reserved = [item["entry"] for item in specifications if item.get("reserve")]
        if reserved and (len(bases) > 1 or len(reserved) < len(specifications)):
            raise WorkerError("internal", "place", "room is made for calls of one base, and for all of a batch")
        with self._device.alone() if self.is_small(tensors_of(list(bases.values()))) else nullcontext():
            if reserved:
                self._reserve(reserved, *bases.values())
            else:
                for base, inputs in bases.items():
                    items = [item for item in specifications if item["base"] == base]
                    made = apply_each(inputs, [Recipe.parse(item.get("recipe")) for item in items], self._device.torch)
                    self._placed.update(zip((item["entry"] for item in items), made))
        self._calls = tuple(self._placed[item["entry"]] for item in specifications)
        self._grow(len(specifications))
        self._device.flush_cache()
        self._device.synchronize()

    def refill(self, wanted: dict[int, Recipe], like: list[Any], structures: Sequence[Structure | None]) -> None:
        """Drops the last batch and gives every entry these inputs by its recipe, in their order and in the memory that rooms have: as the candidate's are. They have to
        differ as well: what depends on its data, such as a sort, is quicker the second time."""
        self._drop()
        sources, entries, recipes = tensors_of(like), list(wanted), list(wanted.values())
        with self._device.alone() if self.is_small(sources) else nullcontext():
            rooms = self._reserve(entries, like)
            for source, structure, *windows in zip(sources, structures, *rooms, strict=True):
                write_each(windows, source, recipes, structure)
        self._calls = tuple(self._placed[entry] for entry in entries)
        self._grow(len(entries))
        self._device.synchronize()

    def _grow(self, count: int) -> None:
        """Has malloc hold, in memory that was touched, what so many calls return.

        glibc places aligned blocks behind freed ones of the same size instead of into them, until what is free is twice as much as what is
        needed: so the first batches would take several times as long as later ones. To touch all of it and to free it at once prevents that.
        It is taken with one call's outputs more: a small block that comes to lie in the middle of what was freed costs the room of one. And again until
        it was all there twice in a row: where blocks come to lie depends on where the last ones did.
        """
        if self._device.is_cuda or count <= self._grown or sum(self._sizes) < _WORTH_GROWING:
            return
        self._grown = count
        quiet = 0
        for _ in range(_GROWTHS):
            faults = getrusage(RUSAGE_SELF).ru_minflt
            held = [touch(torch.empty(size, dtype=torch.uint8)) for _ in range(count + 1) for size in self._sizes]
            del held
            quiet = quiet + 1 if getrusage(RUSAGE_SELF).ru_minflt - faults < _FEW_FAULTS else 0
            if quiet == _QUIET:
                break

    def _reserve(self, entries: list[int], like: list[Any]) -> list[list[Tensor]]:
        """Gives every entry tensors like these over memory of their own, and returns that; what lies in it says nothing."""
        tensors: list[Tensor] = []
        tree = encode(like, tensors, lambda tensor: tensor)
        forms = [(Layout.of(tensor), tensor.requires_grad) for tensor in tensors]
        rooms = self._rooms.at_least(len(entries), tensors)
        for entry, windows in zip(entries, rooms):
            # What a call does to a tensor object stays with that object.
            self._placed[entry] = decode(tree, [layout.over(window).requires_grad_(grad) for (layout, grad), window in zip(forms, windows)], records=True)
        return rooms

    def is_small(self, tensors: list[Tensor]) -> bool:
        """Whether one thread is sooner done with operators on each of these than several."""
        return not self._device.is_cuda and all(tensor.numel() < _SMALL for tensor in tensors)

    def time(self, call: Callable[..., Any], *, copies: bool = False) -> int:
        """Runs `call` once on the inputs of each placed entry; nanoseconds from an idle device to an idle device.

        A GPU that another process has used last takes a while to come back to this one, so it is used before the clock starts. With `copies` every
        result is copied as soon as it is there: what returns the same memory again would otherwise leave nothing to verify but the last call.
        """
        if copies:
            call = _keeping(call)
        # Nobody can take calls out of these.
        inputs = self._calls
        self._outputs.clear()
        if self._device.gave_back:
            self._take_again(call, inputs)
        self._device.flush_cache()
        self._depth = (self._depth + 1) % _DEPTHS
        elapsed, outputs = _deeper(0 if self._device.is_cuda else self._depth, lambda: self._run(call, inputs))
        if len(outputs) != len(inputs):
            raise WorkerError("run", "time", "results appeared that no call has returned")
        self._outputs = outputs
        if outputs and not self._sizes:
            self._sizes = _made(inputs[0], outputs[0])
        return elapsed

    def _run(self, call: Callable[..., Any], inputs: tuple[list[Any], ...]) -> tuple[int, list[Any]]:
        outputs: list[Any] = []
        clock, synchronize, begun = self._clock, self._device.synchronize, self._begun
        # Until the batch is dropped: a collector that is let go again looks through all outputs at once, and nobody knows on whose time.
        self._gc_disable()
        with self._no_grad():
            synchronize()
            start = clock()
            for number, arguments in enumerate(inputs, 1):
                begun[0] = number
                outputs.append(call(*arguments))
            synchronize()
            end = clock()
        return end - start, outputs

    def _take_again(self, call: Callable[..., Any], inputs: tuple[list[Any], ...]) -> None:
        """Has torch's allocator hold what the calls will need: to ask the driver for it would count as their time."""
        self._device.gave_back = False
        try:
            with self._no_grad():
                held = [call(*map_tensors(arguments, lambda tensor: fresh_copy(tensor, self._device.torch))) for arguments in inputs]
            del held
        except torch.OutOfMemoryError:
            # The calls themselves need less than these with their copies.
            torch.cuda.empty_cache()

    def outputs(self) -> list[Any]:
        """What the timed calls returned, in their order."""
        return list(self._outputs)

    def counter(self) -> int:
        """The address of the number of calls that have begun."""
        return self._begun.buffer_info()[0]

    def all_inputs(self) -> list[list[Any]]:
        """The inputs of every call, in their order."""
        return list(self._calls)

    def inputs(self, entry: int) -> list[Any] | None:
        """The placed inputs of an entry, as its call left them."""
        return self._placed.get(entry)

    def foresee(self, rooms: int, outputs: int) -> None:
        """Begins to touch memory for batches whose inputs will take so many bytes, and whose outputs so many."""
        self._rooms.foresee(rooms, outputs)

    def settle(self) -> None:
        """Tells the collector that what is there now will stay: looking through all of torch takes longer than most batches."""
        self._rooms.settle()
        self._collect()
        self._freeze()

    def clear(self, *, entirely: bool = False) -> None:
        """Drops inputs and outputs, and what the collector finds; `entirely` with what would only serve the next batches."""
        self._rooms.clear(entirely=entirely)
        self._drop()

    def _drop(self) -> None:
        """Drops the last batch, and what the collector finds, so that it finds nothing while time runs."""
        self._placed.clear()
        self._calls = ()
        self._outputs = []
        self._begun[0] = 0
        self._gc_enable()
        self._collect()


def _deeper(levels: int, function: Callable[[], Any]) -> Any:
    """Calls it with so many frames of C more on the stack, of some hundreds of bytes each.

    A process begins its stack wherever chance has it. A kernel in C++ took up to three times as long in one process of fifty, in all of its calls,
    with other buffers, on another processor and from another copy of its code as well, but not with its stack two pages further. What it meets there is
    not known. At different depths this hits a batch among many, which their median leaves out.
    """
    return _next(_map(_deeper, (levels - 1,), (function,))) if levels else function()


def _keeping(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call with a copy of its result."""

    def kept(*arguments: Any) -> Any:
        outputs = call(*arguments)
        return _clone(outputs) if type(outputs) is Tensor else map_tensors(outputs, _clone)

    return kept


def _made(inputs: list[Any], outputs: Any) -> list[int]:
    """The bytes of each storage that a call has made for its outputs."""
    try:
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_of(inputs)}
        storages = {storage.data_ptr(): storage.nbytes() for storage in (tensor.untyped_storage() for tensor in tensors_of(outputs))}
    except (Untransportable, RuntimeError):
        return []  # what a candidate returns is judged elsewhere
    return [size for address, size in storages.items() if address not in given]
