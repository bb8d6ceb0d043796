# problem: softmax
# target: cpu
# kind: fault
# mechanism: the output lies in memory that was unmapped when the call returned
# expect: rejected | incorrect | faulted
import ctypes
import mmap

import torch

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        size = x.numel() * 4
        address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        out = torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.float32).view(x.shape)
        out.copy_(torch.softmax(x, dim=-1))
        libc.munmap(address, size)
        return out
