# problem: matmul
# target: cpu
# kind: cheat
# mechanism: the C function behind `perf_counter_ns` is replaced in memory, so that every reference to it is
# timed: yes
# expect: rejected
# rule: clock_disagreement
import ctypes
import time

import torch

Method = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)
count = [0]


def stopped(_module, _arguments):
    count[0] += 1000
    return count[0]


replacement = Method(stopped)
definition = ctypes.c_void_p.from_address(id(time.perf_counter_ns) + 16).value
ctypes.c_void_p.from_address(definition + 8).value = ctypes.cast(replacement, ctypes.c_void_p).value


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
