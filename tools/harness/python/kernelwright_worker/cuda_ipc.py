"""Device memory across processes, through the CUDA driver itself: it knows the true extent of an allocation, whatever a candidate claims.

Only used where a CUDA device is; nothing here runs when the module is imported.
"""

from __future__ import annotations

import base64
import binascii
import ctypes
from functools import cache
from typing import Any

import torch
from torch import Tensor

from . import dlpack
from .layout import Layout
from .trees import Untransportable

_HANDLE_BYTES = 64
#: The unit in which the driver maps memory: a smaller allocation may share one with others, which would then be shared as well.
_PAGE = 2 << 20
_ALIGNMENT = 512
_LAZY_ENABLE_PEER_ACCESS = 1
#: The pointer attribute that no other allocation of this process ever has, an earlier one at the same address included.
_BUFFER_ID = 7


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_ubyte * _HANDLE_BYTES)]


class DriverError(Exception):
    """A call of the CUDA driver that failed."""


@cache
def _driver() -> ctypes.CDLL:
    library = ctypes.CDLL("libcuda.so.1")
    pointer, size = ctypes.c_uint64, ctypes.c_size_t
    library.cuMemGetAddressRange_v2.argtypes = [ctypes.POINTER(pointer), ctypes.POINTER(size), pointer]
    library.cuIpcGetMemHandle.argtypes = [ctypes.POINTER(_Handle), pointer]
    library.cuIpcOpenMemHandle_v2.argtypes = [ctypes.POINTER(pointer), _Handle, ctypes.c_uint]
    library.cuIpcCloseMemHandle.argtypes = [pointer]
    library.cuMemcpyDtoD_v2.argtypes = [pointer, pointer, size]
    library.cuMemAlloc_v2.argtypes = [ctypes.POINTER(pointer), size]
    library.cuMemFree_v2.argtypes = [pointer]
    library.cuPointerGetAttribute.argtypes = [ctypes.c_void_p, ctypes.c_int, pointer]
    return library


def prepare() -> None:
    """Loads the driver; the untrusted role calls it before it imports a candidate."""
    _driver()


def _call(name: str, *arguments: Any) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code != 0:
        raise DriverError(f"{name} failed with CUDA error {code}")


def _extent(address: int) -> tuple[int, int]:
    """Start and size of the allocation that holds `address`."""
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    _call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), address)
    return base.value, size.value


def export(address: int, device: int) -> dict[str, Any]:
    """The `cuda_ipc` member of a located tensor for the memory at `address`; raises `DriverError` for memory that cannot be shared."""
    with torch.cuda.device(device):
        base, _size = _extent(address)
        handle = _Handle()
        _call("cuIpcGetMemHandle", ctypes.byref(handle), base)
    return {
        "handle": base64.b64encode(bytes(handle.reserved)).decode(),
        "handle_offset": address - base,
        "address": address,
        "device": device,
    }


class Blocks:
    """The allocations of device memory in which addresses lie, each with the handle by which another process opens it.

    The driver takes tens of microseconds for a handle, so that of an allocation is kept as long as the allocation lives.
    """

    def __init__(self) -> None:
        #: By where an allocation begins: its identity and its entry.
        self._known: dict[int, tuple[int, dict[str, Any]]] = {}
        self._base, self._size, self._identity = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_uint64()
        self._range = ctypes.byref(self._base), ctypes.byref(self._size)
        self._attribute = ctypes.byref(self._identity), _BUFFER_ID

    def holding(self, address: int, device: int) -> dict[str, Any]:
        """The allocation that holds `address`, as it is now; raises `DriverError` for memory that cannot be shared."""
        _call("cuMemGetAddressRange_v2", *self._range, address)
        base = self._base.value
        _call("cuPointerGetAttribute", *self._attribute, base)
        known = self._known.get(base)
        if known is None or known[0] != self._identity.value:
            entry = {"address": base, "nbytes": self._size.value, "handle": export(base, device)["handle"], "device": device}
            known = self._known[base] = self._identity.value, entry
        return known[1]


class Outbox:
    """Device memory through which tensors go to another process. Whoever opens it can map all of it, so nothing else ever lies there.

    What was put there stays until the next time: the other process has to have taken its copy by then.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._address = ctypes.c_uint64()
        self._size = 0

    def put(self, tensors: list[Tensor]) -> list[dict[str, Any]]:
        """Copies tensors of this device (plain, see `admit_plain`) and gives their entries; raises `DriverError`."""
        layouts, places, end = [], [], 0
        for tensor in tensors:
            layouts.append(Layout.of(tensor))
            places.append(end)
            end += -(-layouts[-1].nbytes // _ALIGNMENT) * _ALIGNMENT
        with torch.cuda.device(self._device):
            self._reserve(end)
            for tensor, layout, place in zip(tensors, layouts, places):
                if layout.nbytes:
                    _call("cuMemcpyDtoD_v2", self._address.value + place, tensor.data_ptr(), layout.nbytes)
            torch.cuda.synchronize(self._device)
        entries = []
        for tensor, layout, place in zip(tensors, layouts, places):
            memory = export(self._address.value + place, self._device.index)
            entries.append(layout.entry(memory={"cuda_ipc": memory}, requires_grad=tensor.requires_grad, device="cuda"))
        return entries

    def clear(self) -> None:
        """Gives the memory back."""
        if self._size:
            with torch.cuda.device(self._device):
                _call("cuMemFree_v2", self._address.value)
            self._size = 0

    def _reserve(self, size: int) -> None:
        if 0 < size <= self._size or self._size and not size:
            return
        self.clear()
        size = max(1, -(-size // _PAGE)) * _PAGE
        try:
            _call("cuMemAlloc_v2", ctypes.byref(self._address), size)
        except DriverError:
            # What torch only keeps is in the way.
            torch.cuda.empty_cache()
            _call("cuMemAlloc_v2", ctypes.byref(self._address), size)
        self._size = size


def read(memory: object, nbytes: int) -> Tensor:
    """Copies a window out of another process's device memory into a flat byte tensor of our own, and drops the mapping."""
    handle, device = _parse(memory)
    offset = memory.get("handle_offset")  # type: ignore[attr-defined]
    if type(offset) is not int:
        raise Untransportable("malformed device memory")
    copy = torch.empty(nbytes, dtype=torch.uint8, device=torch.device("cuda", device))
    mapped = ctypes.c_uint64()
    try:
        with torch.cuda.device(device):
            _call("cuIpcOpenMemHandle_v2", ctypes.byref(mapped), handle, _LAZY_ENABLE_PEER_ACCESS)
            try:
                Block(mapped.value).check(offset, nbytes)
                _call("cuMemcpyDtoD_v2", copy.data_ptr(), mapped.value + offset, nbytes)
                torch.cuda.synchronize(device)
            finally:
                _call("cuIpcCloseMemHandle", mapped.value)
    except DriverError as error:
        raise Untransportable(f"device memory that cannot be opened: {error}") from error
    return copy


class Block:
    """An allocation of another process, mapped here."""

    def __init__(self, base: int) -> None:
        start, size = _extent(base)
        self.base = base
        self._room = start + size - base
        self._copy = _driver().cuMemcpyDtoD_v2
        self._bytes: Tensor | None = None

    def check(self, offset: int, nbytes: int) -> None:
        """Raises `Untransportable` for a window that reaches beyond it."""
        if not 0 <= offset <= self._room - nbytes:
            raise Untransportable(f"a window of {nbytes} bytes at {offset} in device memory of {self._room}")

    def write(self, offset: int, address: int, nbytes: int) -> None:
        """Copies memory of this process's current device there; does not wait for the copy. Raises `DriverError`, or `Untransportable`."""
        self.check(offset, nbytes)
        code = self._copy(self.base + offset, address, nbytes)
        if code != 0:
            raise DriverError(f"cuMemcpyDtoD_v2 failed with CUDA error {code}")

    def scatter(self, index: Tensor, values: Tensor) -> None:
        """Writes single elements of this process's current device there, counted from where it begins; they have to lie within windows that were
        checked. Does not wait until they are written."""
        if self._bytes is None:
            self._bytes = dlpack.over(self.base, self._room, values.device)
        size = values.dtype.itemsize
        self._bytes[: self._room // size * size].view(values.dtype)[index] = values


class Mapped:
    """Allocations of another process, each mapped once: batch after batch lies in the same ones, and mapping takes longer than most copies."""

    def __init__(self) -> None:
        #: By device and handle.
        self._open: dict[tuple[int, bytes], Block] = {}

    def clear(self) -> None:
        """Gives them back: until then their memory is not free, whatever becomes of that process."""
        for (device, _handle), block in self._open.items():
            with torch.cuda.device(device):
                torch.cuda.synchronize(device)
                _driver().cuIpcCloseMemHandle(block.base)  # of a process that is gone there is nothing to close
        self._open.clear()

    def open(self, described: object, wanted: torch.device) -> list[Block]:
        """The described allocations, which have to lie on the wanted device; raises `DriverError`, or `Untransportable`."""
        if not isinstance(described, list):
            raise Untransportable("blocks that are no list")
        with torch.cuda.device(wanted):
            return [self._opened(*_parse(item), wanted) for item in described]

    def _opened(self, handle: _Handle, device: int, wanted: torch.device) -> Block:
        if device != wanted.index:
            raise Untransportable(f"device memory on device {device}, not on {wanted}")
        key = device, bytes(handle.reserved)
        if key not in self._open:
            mapped = ctypes.c_uint64()
            _call("cuIpcOpenMemHandle_v2", ctypes.byref(mapped), handle, _LAZY_ENABLE_PEER_ACCESS)
            self._open[key] = Block(mapped.value)
        return self._open[key]


def _parse(memory: object) -> tuple[_Handle, int]:
    """The handle of an allocation, and on which device it is."""
    try:
        handle = base64.b64decode(memory["handle"], validate=True)  # type: ignore[index]
        device = memory["device"]  # type: ignore[index]
    except (TypeError, KeyError, ValueError, binascii.Error) as error:
        raise Untransportable(f"malformed device memory: {error!r}") from error
    if len(handle) != _HANDLE_BYTES:
        raise Untransportable("malformed device memory")
    if type(device) is not int or not 0 <= device < torch.cuda.device_count():
        raise Untransportable(f"device memory on device {device!r}")
    return _Handle((ctypes.c_ubyte * _HANDLE_BYTES)(*handle)), device
