# problem: total
# target: cpu
# kind: fault
# mechanism: threads add to one number without protection
# expect: incorrect
import ctypes
import subprocess

import torch

SOURCE = r"""
#include <thread>
#include <sched.h>
extern "C" void kernel(const float* x, volatile float* out, long n) {
    *out = 0;
    auto part = [=](long from, long to) {
        for (long i = from; i < to; ++i) {
            float seen = *out;
            if (i % 4096 == 0) sched_yield();
            *out = seen + x[i] * x[i];
        }
    };
    std::thread a(part, 0, n / 3), b(part, n / 3, 2 * n / 3), c(part, 2 * n / 3, n);
    a.join(); b.join(); c.join();
}
"""
subprocess.run(["g++", "-O2", "-pthread", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty((), dtype=x.dtype)
        library.kernel(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), ctypes.c_long(x.numel()))
        return out
