"""Arenas: sealed memory files that carry tensors between processes, and where a tensor lies in this process's memory."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import time
from typing import Any

import torch
from torch import Tensor

from . import cuda_ipc
from .layout import ALIGNMENT, Layout, skew_of, window_of
from .trees import Untransportable

_WRITE_LIMIT = 1 << 30
_F_ADD_SEALS = 1033
_SEALS = 0x1 | 0x2 | 0x4 | 0x8  # F_SEAL_SEAL | SHRINK | GROW | WRITE
_PATIENCE_S = 10.0


def write_arena(tensors: list[Tensor]) -> tuple[int, list[dict[str, Any]]]:
    """Puts tensors (plain, see `admit_plain`) into a new sealed arena; its descriptor, which the caller owns, and the entries."""
    entries, end = [], 0
    for tensor in tensors:
        layout = Layout.of(tensor)
        offset = -(-end // ALIGNMENT) * ALIGNMENT + skew_of(tensor)
        entries.append(layout.entry(offset=offset, requires_grad=tensor.requires_grad, device=tensor.device.type))
        end = offset + layout.nbytes
    fd = os.memfd_create("kernelwright-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, end)
        for tensor, entry in zip(tensors, entries):
            _write(fd, entry["offset"], window_of(tensor).cpu())
        _seal(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd, entries


def _seal(fd: int) -> None:
    """`EBUSY` while the kernel holds a page of the file in passing, or a process just forked off has not yet become another program."""
    since = time.monotonic()
    while True:
        try:
            fcntl.fcntl(fd, _F_ADD_SEALS, _SEALS)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() - since > _PATIENCE_S:
                raise
        time.sleep(0.001)


def _write(fd: int, offset: int, window: Tensor) -> None:
    """Writes by `pwrite`: a writable mapping would stand in the way of the seal."""
    if window.numel() == 0:
        return
    data = memoryview((ctypes.c_char * window.numel()).from_address(window.data_ptr()))
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done : done + _WRITE_LIMIT], offset + done)


class Arena:
    """An arena of another process. Tensors over it share its pages; it lives as long as one of them does."""

    def __init__(self, fd: int | None) -> None:
        size = os.fstat(fd).st_size if fd is not None else 0
        if fd is None or size == 0:
            self._bytes = torch.empty(0, dtype=torch.uint8)
            return
        # Private and writable in name only: torch warns of read-only buffers, and a seal forbids shared writable mappings.
        mapping = mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._bytes = torch.frombuffer(mapping, dtype=torch.uint8)

    @classmethod
    def received(cls, fds: list[int]) -> Arena:
        """The arena that came with a request, or an empty one."""
        return cls(fds[0] if fds else None)

    def tensor(self, entry: object) -> Tensor:
        """The tensor an entry describes, on the device where its memory is; raises `Untransportable` where it does not fit the arena.

        What the entry says of its device is not looked at: a window in the arena is on the CPU.
        """
        if not isinstance(entry, dict):
            raise Untransportable("a tensor entry that is no object")
        layout = Layout.parse(entry)
        memory = entry.get("memory")
        if isinstance(memory, dict) and "cuda_ipc" in memory:
            return _with_grad(layout.over(cuda_ipc.read(memory["cuda_ipc"], layout.nbytes)), entry)
        offset = entry.get("offset")
        if type(offset) is not int or offset < 0 or offset + layout.nbytes > self._bytes.numel():
            raise Untransportable(f"a window of {layout.nbytes} bytes at {offset} in an arena of {self._bytes.numel()}")
        window = self._bytes[offset : offset + layout.nbytes] if layout.nbytes else torch.empty(0, dtype=torch.uint8)
        return _with_grad(layout.over(window), entry)

    def tensors(self, entries: object) -> list[Tensor]:
        """Every tensor of a list of entries."""
        if not isinstance(entries, list):
            raise Untransportable("a list of tensor entries that is no list")
        return [self.tensor(entry) for entry in entries]


def _with_grad(tensor: Tensor, entry: dict[str, Any]) -> Tensor:
    asked = entry.get("requires_grad") is True and (tensor.is_floating_point() or tensor.is_complex())
    return tensor.requires_grad_(True) if asked else tensor


def locate(tensor: Tensor) -> dict[str, Any]:
    """The entry of a plain tensor with the place of its window in this process's memory. The tensor has to be kept alive."""
    layout = Layout.of(tensor)
    if tensor.device.type == "cuda" and layout.nbytes:
        memory: dict[str, Any] = {"cuda_ipc": cuda_ipc.export(tensor.data_ptr(), tensor.device.index)}
    else:
        memory = {"host": {"address": tensor.data_ptr() if layout.nbytes else 0}}
    return layout.entry(memory=memory, requires_grad=False, device=tensor.device.type)
