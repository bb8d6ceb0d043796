# +++
# title = "Parallel row softmax in C++ with a vectorised polynomial exp"
# languages = ["cpp"]
# architectures = ["x86_64"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://gcc.gnu.org/onlinedocs/gcc/Optimize-Options.html",
#   "Moshier, Cephes Mathematical Library, single precision exp (expf.c)",
#   "measured: 8192 x 8192 fp32, two Zen 4 cores, malloc told to keep memory: torch.softmax 68 ms, this kernel 57 ms (gcc 12)",
# ]
# tags = ["softmax", "exp", "reduction", "openmp", "nan"]
# problem = "problems/row_softmax.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.3x (1.1 to 2) against eager torch, 4096 x 2048 float32, two x86 cores with AVX-512, busy with other work" },
# ]
# +++
"""Softmax over the last dimension, float32, any row length.

Three sweeps over a row, of which only the first reads memory: an 8192-element row is 32 KiB and stays in the L1 or L2 cache of its
core. Sweep 1 finds the maximum, sweep 2 writes exp(x - max) to the output and sums it, sweep 3 scales the output in place. Rows are
independent, so threads split rows; with fewer rows than threads this kernel leaves cores idle and the row itself must be split.

- `expf` in a plain loop is a scalar library call. `exp_nonpositive` is range reduction plus a degree 5 polynomial (Cephes), all
  arithmetic, so GCC vectorises it at the full register width without -ffast-math. Relative error is below 2e-7 on its domain x <= 0.
- `#pragma omp simd reduction` is what lets GCC reorder the float sum and the maximum; without it, or -ffast-math, the sum stays scalar.
- NaN and infinities come out as in torch, because -ffast-math is *not* used: a NaN in a row makes the whole row NaN, -inf gives an exact
  0, a row of only -inf gives NaN. The comparisons are written so that a NaN falls through to the arithmetic.
- Results that would be subnormal (exp(x) below 1.2e-38) are flushed to 0.
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
#include <bit>
#include <cstdint>

// exp(x) for x <= 0: 2^n * p(r), n = round(x / ln 2), |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds to an integer in the low mantissa bits.
static inline float exp_nonpositive(float x) {
    const float magic = 12582912.0f;
    const float clamped = x < -87.0f ? -87.0f : x;
    const float shifted = clamped * 1.44269504f + magic;
    const float n = shifted - magic;
    const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const int32_t exponent = std::bit_cast<int32_t>(shifted) << 23;
    const float scaled = std::bit_cast<float>(std::bit_cast<int32_t>(p) + exponent);
    const float finite = x < -87.0f ? 0.0f : scaled;
    return x != x ? x : finite;
}

extern "C" void row_softmax(float* __restrict out, const float* __restrict in, int64_t rows, int64_t cols, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* x = in + i * cols;
        float* y = out + i * cols;
        float top = -__builtin_inff();
#pragma omp simd reduction(max : top)
        for (int64_t j = 0; j < cols; ++j) top = x[j] > top ? x[j] : top;
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < cols; ++j) {
            const float e = exp_nonpositive(x[j] - top);
            y[j] = e;
            sum += e;
        }
        const float scale = 1.0f / sum;
        for (int64_t j = 0; j < cols; ++j) y[j] *= scale;
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
LIBRARY.row_softmax.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_int]
LIBRARY.row_softmax.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        x = x.contiguous()
        out = torch.empty_like(x)
        cols = x.shape[-1]
        if x.numel():
            LIBRARY.row_softmax(out.data_ptr(), x.data_ptr(), x.numel() // cols, cols, torch.get_num_threads())
        return out
