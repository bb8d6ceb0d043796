# problem: chain
# target: cpu
# kind: honest
# mechanism: C++ on raw pointers in a build folder of its own, with chatty output
# timed: yes
# expect: correct
# absent: no_custom_kernel
import ctypes
import os
import subprocess

import torch

SOURCE = r"""
#include <math.h>
extern "C" void kernel(const float* x, const float* y, float* out, long n) {
    for (long i = 0; i < n; ++i) {
        float t = tanhf(y[i] / (1.0f + expf(-x[i])) + x[i]);
        out[i] = (t > 0.9f ? 0.9f : t < -0.9f ? -0.9f : t) * y[i];
    }
}
"""
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "build")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "kernel.cpp"), "w") as file:
    file.write(SOURCE)
command = ["g++", "-O3", "-shared", "-fPIC", "-o", os.path.join(folder, "kernel.so"), os.path.join(folder, "kernel.cpp")]
print("building:", *command)
subprocess.run(command, check=True)
library = ctypes.CDLL(os.path.join(folder, "kernel.so"))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        out = torch.empty_like(x)
        library.kernel(*(ctypes.c_void_p(t.data_ptr()) for t in (x, y, out)), ctypes.c_long(x.numel()))
        return out
