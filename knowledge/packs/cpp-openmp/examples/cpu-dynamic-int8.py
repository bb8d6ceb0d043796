# +++
# title = "Per-row int8 quantisation in C++: largest magnitude, round to even, both results in one visit"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.round.html",
#   "https://arxiv.org/abs/2208.07339",
# ]
# tags = ["quantisation", "reduction", "simd"]
# problem = "problems/dynamic_int8.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.17x (0.97 to 1.38) against torch.compile; 3.06 ms, eager 10.4 ms, torch.compile 3.69 ms; 2048 x 4096 float32, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""Symmetric dynamic quantisation of rows: `scale = max(|x|) / 127`, `q = round(x / scale)` as int8, scale as float32.

Integer outputs are compared exactly, so every rounding has to be that of the reference: the same division (not a product with the
reciprocal, which differs in the last place and flips a value that lies on a tie) and the same rounding mode (`torch.round` rounds half to
even; so does `nearbyintf` in the default mode and the vector instruction that GCC makes of it; `roundf` rounds half away from zero).

- Eager torch makes five passes (abs, amax, divide, round, convert). Here the second sweep finds the row in L1 or L2.
- A division per element costs little beside memory: 8 or 16 at once.
- `float -> int32_t -> int8_t` vectorises; the clamp to +-127 comes first, so nothing overflows. A row of zeros has the scale of `floor` and
  gives zeros.
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
#include <cmath>
#include <cstdint>

extern "C" void quantise_rows(int8_t* __restrict q, float* __restrict scales, const float* __restrict x, int64_t rows, int64_t cols,
                              float floor, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* in = x + i * cols;
        int8_t* o = q + i * cols;
        float top = 0.0f, total = 0.0f;
#pragma omp simd reduction(max : top) reduction(+ : total)
        for (int64_t j = 0; j < cols; ++j) {
            const float size = std::fabs(in[j]);
            top = size > top ? size : top;
            total += size != size ? size : 0.0f;  // a NaN anywhere
        }
        if (total != total) top = total;
        const float scale = (top < floor ? floor : top) / 127.0f;
        scales[i] = scale;
        for (int64_t j = 0; j < cols; ++j) {
            const float r = std::nearbyint(in[j] / scale);
            const float low = r < -127.0f ? -127.0f : r;
            o[j] = static_cast<int8_t>(static_cast<int32_t>(low > 127.0f ? 127.0f : low));
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
LIBRARY.quantise_rows.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2 + [ctypes.c_float, ctypes.c_int]
LIBRARY.quantise_rows.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        x = x.contiguous()
        cols = x.shape[-1]
        q, scales = torch.empty_like(x, dtype=torch.int8), torch.empty(*x.shape[:-1], 1)
        if x.numel():
            LIBRARY.quantise_rows(q.data_ptr(), scales.data_ptr(), x.data_ptr(), x.numel() // cols, cols, 1e-8, torch.get_num_threads())
        return q, scales
