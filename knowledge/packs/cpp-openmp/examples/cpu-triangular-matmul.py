# +++
# title = "Lower triangle times a thin matrix in C++: half of the memory, no masked copy, balanced rows"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.tril.html",
#   "https://www.openmp.org/spec-html/5.0/openmpsu41.html",
# ]
# tags = ["algebra", "gemm", "threads", "openmp"]
# problem = "problems/triangular_matmul.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "3.62x (3.32 to 4.00) against torch.compile; 4.33 ms, eager 18.7 ms, torch.compile 14.8 ms; 4096 x 4096 times 4096 x 8 float32, 2 shared cores of a Zen 4 EPYC" },
# ]
# +++
"""`torch.tril(a) @ x` with a of [n, n] and x of [n, 8]. float32.

`torch.tril` reads and writes all of a, and the product reads the copy again: three times n * n elements, half of them zeros. Here row i is
read up to the diagonal and nothing else: n * n / 2 elements once.

- Eight result columns are eight accumulators; row i of x is one vector, so the inner loop is one broadcast and one fused multiply-add per
  element of a. Four interleaved sets of accumulators hide the latency of the additions.
- Row i costs i: equal blocks of rows would leave the first thread idle for most of the time. `schedule(dynamic, 16)` from the longest row
  down keeps all threads busy; short rows fill the end.
- The zeros above the diagonal are never multiplied, so an inf in x that meets one does not become NaN, which it does in the dense product.
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

SOURCE = r"""
#include <cstdint>

constexpr int64_t WIDTH = 8;

extern "C" void lower_times(float* __restrict out, const float* __restrict a, const float* __restrict x, int64_t n, int threads) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int64_t down = 0; down < n; ++down) {
        const int64_t i = n - 1 - down;
        const float* row = a + i * n;
        float sums[4][WIDTH] = {};
        int64_t j = 0;
        for (; j + 4 <= i + 1; j += 4)
            for (int64_t u = 0; u < 4; ++u)
#pragma omp simd
                for (int64_t c = 0; c < WIDTH; ++c) sums[u][c] += row[j + u] * x[(j + u) * WIDTH + c];
        for (; j <= i; ++j)
            for (int64_t c = 0; c < WIDTH; ++c) sums[0][c] += row[j] * x[j * WIDTH + c];
        for (int64_t c = 0; c < WIDTH; ++c) out[i * WIDTH + c] = (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
    }
}
"""

FLAGS = ["-O3", "-march=native", "-std=c++20", "-fopenmp", "-fno-trapping-math", "-fno-math-errno", "-shared", "-fPIC"]


def load_library(source: str) -> ctypes.CDLL:
    """Builds `source` once per content and loads it."""
    key = hashlib.sha256("\0".join([source, *FLAGS]).encode()).hexdigest()[:24]
    library = Path(tempfile.gettempdir()) / f"kernel-{key}.so"
    if not library.exists():
        partial = library.with_suffix(f".{os.getpid()}.part")
        build = subprocess.run(["g++", *FLAGS, "-x", "c++", "-", "-o", str(partial)], input=source, text=True, capture_output=True, check=False)
        if build.returncode != 0:
            raise RuntimeError(f"g++ failed:\n{build.stderr}")
        partial.rename(library)
    return ctypes.CDLL(str(library))


LIBRARY = load_library(SOURCE)
LIBRARY.lower_times.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64, ctypes.c_int]
LIBRARY.lower_times.restype = None


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        n = a.shape[0]
        if a.dtype != torch.float32 or x.dtype != torch.float32 or a.shape != (n, n) or x.shape != (n, 8):
            raise ValueError("expected float32 a[n, n] and x[n, 8]")
        a, x = a.contiguous(), x.contiguous()
        out = torch.empty_like(x)
        LIBRARY.lower_times(out.data_ptr(), a.data_ptr(), x.data_ptr(), n, torch.get_num_threads())
        return out
