"""What a GPU ran, from CUPTI itself: kernels, copies and fills with their times.

torch's profiler tells the same, and takes seconds for its first session in a process, where every candidate has a process of its own.
Only the beginnings of activity records are read, which have kept their places through every version of these records.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

_LIBRARIES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so")
_MEMCPY, _MEMSET, _KERNEL = 1, 2, 10
_KINDS = {_MEMCPY: "Memcpy", _MEMSET: "Memset", _KERNEL: ""}
#: Where records of all three kinds have the nanoseconds of start and end, and where kernels have the address of their name.
_START, _END, _NAME = 16, 24, 104
_BUFFER_BYTES = 1 << 20
_FLUSH_ALL = 1


class Unavailable(Exception):
    """CUPTI is not there, or refuses."""


class _Records:
    """Takes CUPTI's buffers, in this process's one registration."""

    def __init__(self) -> None:
        self._library = _load()
        self._lent: dict[int, Any] = {}
        self._filled: list[tuple[int, int]] = []
        address, size = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)
        requested = ctypes.CFUNCTYPE(None, address, size, size)
        completed = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        self._library.cuptiActivityGetNextRecord.argtypes = [ctypes.c_void_p, ctypes.c_size_t, address]
        self._library.cuptiGetResultString.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
        # CUPTI calls them as long as the process lives.
        self._callbacks = requested(self._lend), completed(self._take)
        self._call("cuptiActivityRegisterCallbacks", *self._callbacks)

    def _lend(self, buffer: Any, size: Any, most_records: Any) -> None:
        memory = (ctypes.c_uint64 * (_BUFFER_BYTES // 8))()
        self._lent[ctypes.addressof(memory)] = memory
        buffer[0], size[0], most_records[0] = ctypes.addressof(memory), _BUFFER_BYTES, 0

    def _take(self, _context: Any, _stream: int, buffer: int, _size: int, valid: int) -> None:
        self._filled.append((buffer, valid))

    def of(self, call: Callable[[], Any]) -> list[tuple[str, int]]:
        self._filled.clear()
        for kind in _KINDS:
            self._call("cuptiActivityEnable", kind)
        try:
            call()
            self._call("cuptiActivityFlushAll", _FLUSH_ALL)
        finally:
            for kind in _KINDS:
                self._library.cuptiActivityDisable(kind)
        return [record for buffer, valid in self._filled for record in self._read(buffer, valid)]

    def _read(self, buffer: int, valid: int) -> list[tuple[str, int]]:
        record, found = ctypes.c_void_p(), []
        while self._library.cuptiActivityGetNextRecord(buffer, valid, ctypes.byref(record)) == 0:
            at = record.value or 0
            kind = ctypes.c_uint32.from_address(at).value
            if kind in _KINDS:
                name = _KINDS[kind] or _readable(ctypes.c_char_p.from_address(at + _NAME).value or b"")
                found.append((name, ctypes.c_uint64.from_address(at + _END).value - ctypes.c_uint64.from_address(at + _START).value))
        return found

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._library.cuptiGetResultString(code, ctypes.byref(text))
            raise Unavailable(f"{name}: {(text.value or b'').decode() or code}")


_records: _Records | None = None


def activities(call: Callable[[], Any]) -> list[tuple[str, int]]:
    """What the GPU ran during `call`, which has to wait for it: name and nanoseconds of each kernel, copy and fill; raises `Unavailable`."""
    global _records
    if _records is None:
        _records = _Records()
    return _records.of(call)


def _load() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise Unavailable("no libcupti is loaded or found")


def _readable(name: bytes) -> str:
    """The name as it was written, where it is that of a C++ function."""
    if name.startswith(b"_Z"):
        try:
            demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
        except (OSError, AttributeError):
            return name.decode(errors="replace")
        demangle.restype = ctypes.c_void_p
        status = ctypes.c_int()
        text = demangle(name, None, None, ctypes.byref(status))
        if text and status.value == 0:
            name = ctypes.string_at(text)
            ctypes.CDLL(None).free(ctypes.c_void_p(text))
    return name.decode(errors="replace")
