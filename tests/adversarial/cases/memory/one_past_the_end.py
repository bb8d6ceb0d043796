# problem: chain
# target: cpu
# kind: fault
# mechanism: the right result, and a write of one element past the end of the output, where malloc's block has room left
# expect: faulted
import ctypes
import subprocess

import torch

SOURCE = r"""
#include <math.h>
extern "C" void kernel(const float* x, const float* y, float* out, long n) {
    for (long i = 0; i < n + 1; ++i) {
        long j = i < n ? i : n - 1;
        float z = y[j] / (1.0f + expf(-x[j]));
        out[i] = fminf(fmaxf(tanhf(z + x[j]), -0.9f), 0.9f) * y[j];
        if (x[j] != x[j] || y[j] != y[j]) out[i] = NAN;
    }
}
"""
subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        library.kernel(*(ctypes.c_void_p(t.data_ptr()) for t in (x, y, out)), ctypes.c_long(x.numel()))
        return out
