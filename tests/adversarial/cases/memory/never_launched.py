# problem: chain
# target: cpu
# kind: fault
# mechanism: the kernel returns early with an error code that nobody reads; the output is old memory
# expect: incorrect
import ctypes
import subprocess

import torch

SOURCE = r"""
extern "C" int kernel(const float* x, const float* y, float* out, long n) {
    if (n % 7919 != 0) return -1;
    for (long i = 0; i < n; ++i) out[i] = x[i] + y[i];
    return 0;
}
"""
subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        library.kernel(*(ctypes.c_void_p(t.data_ptr()) for t in (x, y, out)), ctypes.c_long(x.numel()))
        return out
