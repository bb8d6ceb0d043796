# problem: total
# target: cpu
# kind: honest
# mechanism: threads of its own that are joined, and an atomic whose order of additions varies
# timed: yes
# expect: correct
import ctypes
import subprocess

import torch

SOURCE = r"""
#include <atomic>
#include <thread>
extern "C" void kernel(const float* x, float* out, long n) {
    std::atomic<float> total{0};
    auto part = [&](long from, long to) {
        for (long i = from; i < to; i += 1024) {
            float sum = 0;
            for (long j = i; j < to && j < i + 1024; ++j) sum += x[j] * x[j];
            for (float seen = total; !total.compare_exchange_weak(seen, seen + sum);) {}
        }
    };
    std::thread a(part, 0, n / 2), b(part, n / 2, n);
    a.join(); b.join();
    *out = total;
}
"""
subprocess.run(["g++", "-O3", "-std=c++20", "-pthread", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty((), dtype=x.dtype)
        library.kernel(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), ctypes.c_long(x.numel()))
        return out
