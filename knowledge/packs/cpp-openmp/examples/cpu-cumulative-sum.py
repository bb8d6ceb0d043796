# +++
# title = "Cumulative sum along rows in C++: OpenMP inclusive scan that GCC vectorises"
# languages = ["cpp"]
# bottleneck = "latency"
# sources = [
#   "OpenMP API 5.0, section 2.9.6, scan directive",
#   "https://docs.pytorch.org/docs/stable/generated/torch.cumsum.html",
#   "https://gcc.gnu.org/gcc-10/changes.html",
# ]
# tags = ["scan", "simd", "openmp"]
# problem = "problems/cumulative_sum.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.80x (1.70 to 1.92) against eager; 2.47 ms, eager 4.37 ms, torch.compile 4.56 ms; 2048 x 4096 float32, 2 shared cores of a Zen 4 EPYC" },
# ]
# +++
"""`cumsum(x, dim=-1)` of a matrix, float32.

A running sum is a chain: every addition waits for the one before, 3 to 4 cycles an element, while memory could deliver several elements in
that time. `#pragma omp simd reduction(inscan, + : sum)` with `#pragma omp scan inclusive(sum)` allows the compiler to add in another order;
GCC (10 or newer) then computes prefix sums of a whole vector in log2(lanes) shuffle-and-add steps and carries one value between vectors.

- Statements before the scan directive are the input phase (add to `sum`), those after it the scan phase (use `sum`). They must not exchange
  anything but the list items.
- Rows are independent and go to the threads. For one very long row, split it: sums of the pieces, a scan over those sums, then each piece
  again with its offset (two reads).
- The sums in between round differently than one chain does, by no more than a few units in the last place of the largest partial sum.
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

extern "C" void cumulative_sum(float* __restrict out, const float* __restrict x, int64_t rows, int64_t cols, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* in = x + i * cols;
        float* o = out + i * cols;
        float sum = 0.0f;
#pragma omp simd reduction(inscan, + : sum)
        for (int64_t j = 0; j < cols; ++j) {
            sum += in[j];
#pragma omp scan inclusive(sum)
            o[j] = sum;
        }
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
LIBRARY.cumulative_sum.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_int]
LIBRARY.cumulative_sum.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        x = x.contiguous()
        out = torch.empty_like(x)
        cols = x.shape[-1]
        if x.numel():
            LIBRARY.cumulative_sum(out.data_ptr(), x.data_ptr(), x.numel() // cols, cols, torch.get_num_threads())
        return out
