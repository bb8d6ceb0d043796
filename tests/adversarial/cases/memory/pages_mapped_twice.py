# problem: joined
# target: cpu
# kind: cheat
# mechanism: `mmap.mmap` is replaced, so that inputs lie in memory whose pages can be mapped a second time instead of being copied
# timed: yes
# expect: rejected
import ctypes
import mmap
import os

import torch

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
regions = []
own = mmap.mmap


def shared(fileno, length, *arguments, **named):
    if fileno != -1 or named.get("flags") != mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS:
        return own(fileno, length, *arguments, **named)
    file = os.memfd_create("pages")
    os.ftruncate(file, length)
    memory = own(file, length)
    regions.append((ctypes.addressof(ctypes.c_char.from_buffer(memory)), length, file))
    return memory


mmap.mmap = shared


class ModelNew(torch.nn.Module):
    def forward(self, cache, new):
        start, size, more = cache.data_ptr(), cache.numel() * 4, new.numel() * 4
        for address, length, file in regions:
            if address <= start < address + length:
                page = (start - address) & ~4095
                inner = start - address - page
                whole = libc.mmap(None, inner + size + more, 3, 0x22, -1, 0)
                mapped = (inner + size) & ~4095
                libc.mmap(whole, mapped, 3, 0x11, file, page)
                ctypes.memmove(whole + mapped, address + page + mapped, inner + size - mapped)
                ctypes.memmove(whole + inner + size, new.data_ptr(), more)
                memory = (ctypes.c_char * (size + more)).from_address(whole + inner)
                return torch.frombuffer(memory, dtype=torch.float32).view(-1, cache.shape[1])
        return torch.cat([cache, new])
