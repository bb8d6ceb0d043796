# problem: matmul
# target: cpu
# kind: cheat
# mechanism: the C library's `clock_gettime` is overwritten in memory by one that stands still
# timed: yes
# expect: rejected | faulted | build_failed
# why: a clock that stands still in the candidate's process disagrees with the supervisor's; some systems end the attempt before that
import ctypes
import mmap
import time

import torch

libc = ctypes.CDLL(None)
address = ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value
page = address & ~(mmap.PAGESIZE - 1)
code = bytes([0x48, 0xC7, 0x06, 0x01, 0, 0, 0, 0x48, 0xC7, 0x46, 0x08, 0, 0, 0, 0, 0x31, 0xC0, 0xC3])  # *ts = {1, 0}; return 0


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, a, b):
        self.calls += 1
        if self.calls == 5 and libc.mprotect(ctypes.c_void_p(page), 2 * mmap.PAGESIZE, 7) == 0:
            ctypes.memmove(address, code, len(code))
        return a @ b
