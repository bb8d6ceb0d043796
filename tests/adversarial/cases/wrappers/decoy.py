# problem: matmul
# target: cpu
# kind: cheat
# mechanism: a kernel of its own runs on scratch memory and is ignored; the library does the work
# timed: yes
# expect: correct
# finding: no_custom_kernel
import ctypes
import subprocess

import torch

SOURCE = 'extern "C" void kernel(float* scratch, long n) { for (long i = 0; i < n; ++i) scratch[i] = scratch[i] * 0.5f + 1.0f; }'
subprocess.run(["g++", "-O3", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")
scratch = torch.zeros(256)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        library.kernel(ctypes.c_void_p(scratch.data_ptr()), ctypes.c_long(scratch.numel()))
        return torch.matmul(a, b)
