# problem: cut_off
# target: cpu
# kind: honest
# mechanism: vectors are loaded from any address, and timed so
# timed: yes
# expect: correct
import ctypes
import subprocess

import torch

SOURCE = r"""
#include <immintrin.h>
extern "C" void run(const float* x, float* y, long count) {
    for (long i = 0; i < count; i += 4) {
        __m128 positive = _mm_max_ps(_mm_setzero_ps(), _mm_loadu_ps(x + i));
        _mm_storeu_ps(y + i, _mm_add_ps(_mm_add_ps(positive, positive), _mm_set1_ps(1)));
    }
}
"""
subprocess.run(["g++", "-O3", "-shared", "-fPIC", "-x", "c++", "-", "-o", "./cut_off.so"], input=SOURCE.encode(), check=True)
kernel = ctypes.CDLL("./cut_off.so")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel.run(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
        return y
