# problem: softmax
# target: cpu
# kind: honest
# mechanism: C++ on raw pointers with a thread pool from Python, joined before the call returns
# timed: yes
# expect: correct
import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor

import torch

SOURCE = r"""
#include <math.h>
extern "C" void kernel(const float* x, float* out, long rows, long n) {
    for (long r = 0; r < rows; ++r, x += n, out += n) {
        float top = -INFINITY, sum = 0;
        for (long i = 0; i < n; ++i) top = x[i] > top || x[i] != x[i] ? x[i] : top;
        for (long i = 0; i < n; ++i) sum += out[i] = expf(x[i] - top);
        for (long i = 0; i < n; ++i) out[i] /= sum;
    }
}
"""
subprocess.run(["g++", "-O3", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")
pool = ThreadPoolExecutor(2)


def rows(x, out, start, stop):
    library.kernel(ctypes.c_void_p(x[start].data_ptr()), ctypes.c_void_p(out[start].data_ptr()), ctypes.c_long(stop - start), ctypes.c_long(x.shape[1]))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        half = x.shape[0] // 2
        list(pool.map(lambda part: rows(x, out, *part), [(0, half), (half, x.shape[0])]))
        return out
