# +++
# title = "RMS norm over rows in C++: residual add, sum of squares and scaling in one visit of the row"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html",
#   "https://arxiv.org/abs/1910.07467",
# ]
# tags = ["rms-norm", "fusion", "reduction", "simd"]
# problem = "problems/rms_norm.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.06x (0.76 to 1.22) against torch.compile; 10.0 ms, eager 16.5 ms, torch.compile 9.90 ms; 4096 x 2048 float32, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""`h = x + residual`, `h / sqrt(mean(h * h) + eps) * weight`, with h returned as well, as transformer blocks use it. float32, any row length.

Eager torch walks memory for the addition, the square, the mean, the scaling and the weight. Here each row is read once (x and residual) and
written twice (h and the result); the second sweep finds h in L1, where the first one has just put it.

- `#pragma omp simd reduction` lets GCC keep 8 or 16 partial sums; without it the sum of squares is one chain of scalar additions.
- One square root and one division a row; the inner loop only multiplies.
- The sum of squares cannot cancel, so float partial sums are exact enough: rows of some thousands lose about one digit in the last place.
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

extern "C" void add_rms_norm(float* __restrict out, float* __restrict sum, const float* __restrict x, const float* __restrict residual,
                             const float* __restrict weight, int64_t rows, int64_t cols, float eps, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* xi = x + i * cols;
        const float* ri = residual + i * cols;
        float* hi = sum + i * cols;
        float* oi = out + i * cols;
        float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < cols; ++j) {
            const float h = xi[j] + ri[j];
            hi[j] = h;
            squares += h * h;
        }
        const float scale = 1.0f / std::sqrt(squares / static_cast<float>(cols) + eps);
        for (int64_t j = 0; j < cols; ++j) oi[j] = hi[j] * scale * weight[j];
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
LIBRARY.add_rms_norm.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int64] * 2 + [ctypes.c_float, ctypes.c_int]
LIBRARY.add_rms_norm.restype = None


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cols = self.weight.shape[0]
        if x.dtype != torch.float32 or residual.dtype != torch.float32:
            raise TypeError("this kernel is for float32")
        if x.shape != residual.shape or x.shape[-1] != cols:
            raise ValueError("expected x and residual of one shape that ends in the weight's length")
        x, residual = x.contiguous(), residual.contiguous()
        out, total = torch.empty_like(x), torch.empty_like(x)
        if x.numel():
            LIBRARY.add_rms_norm(
                out.data_ptr(), total.data_ptr(), x.data_ptr(), residual.data_ptr(), self.weight.data_ptr(),
                x.numel() // cols, cols, self.eps, torch.get_num_threads(),
            )  # fmt: skip
        return out, total
