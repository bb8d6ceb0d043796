# +++
# title = "Fused bias, exact GELU and layer norm over rows in C++"
# languages = ["cpp"]
# architectures = ["x86_64"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "measured: 8192 x 1024 fp32, two Zen 4 cores, malloc told to keep memory: eager torch 25.6 ms, this kernel 14.7 ms (gcc 12)",
#   "Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26",
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.GELU.html",
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html",
# ]
# tags = ["fusion", "layernorm", "gelu", "exp", "openmp"]
# problem = "problems/bias_gelu_layernorm.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "2.1x (1.7 to 2.5) against eager torch, 4096 x 1024 float32, two x86 cores with AVX-512, busy with other work" },
# ]
# +++
"""`layer_norm(gelu(x + bias)) * weight + shift` over the last dimension, float32: one read of x and one write of the result.

Eager torch makes three passes over memory (add, gelu, layer norm), each with a fresh output. Here the output row is the scratch space:
sweep 1 writes gelu(x + bias) to it and sums, sweep 2 sums the squared distances from the mean, sweep 3 normalises in place. A row of
1024 floats is 4 KiB and stays in L1 between the sweeps.

- GELU with erf needs no `erff`: with z = |x| / sqrt(2), t = 1 / (1 + 0.3275911 z) and q = 0.5 * t * P(t) * exp(-z * z), the result is
  x * (1 - q) for x >= 0 and x * q below. The absolute error of this erf is below 1.5e-7 (plus rounding), and writing the negative side
  as x * q avoids the cancellation in 1 + erf.
- The variance is the mean of (g - mean)^2 in a second sweep. E[g^2] - mean^2 in one sweep loses all digits when |mean| is far above
  the standard deviation, and the row is in cache anyway.
- The parameters keep the reference's names (`bias`, `norm.weight`, `norm.bias`), so a state copy by name fills them.
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

static inline float gelu(float x) {
    const float z = __builtin_fabsf(x) * 0.70710678f;
    const float t = 1.0f / (1.0f + 0.3275911f * z);
    const float poly = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    const float q = 0.5f * poly * exp_nonpositive(-z * z);
    return x * (x >= 0.0f ? 1.0f - q : q);
}

extern "C" void bias_gelu_layernorm(float* __restrict out, const float* __restrict in, const float* __restrict bias, const float* __restrict weight,
                                    const float* __restrict shift, int64_t rows, int64_t cols, float eps, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* x = in + i * cols;
        float* y = out + i * cols;
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < cols; ++j) {
            const float g = gelu(x[j] + bias[j]);
            y[j] = g;
            sum += g;
        }
        const float mean = sum / static_cast<float>(cols);
        float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < cols; ++j) {
            const float distance = y[j] - mean;
            squares += distance * distance;
        }
        const float scale = 1.0f / __builtin_sqrtf(squares / static_cast<float>(cols) + eps);
        for (int64_t j = 0; j < cols; ++j) y[j] = (y[j] - mean) * scale * weight[j] + shift[j];
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
LIBRARY.bias_gelu_layernorm.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int64] * 2 + [ctypes.c_float, ctypes.c_int]
LIBRARY.bias_gelu_layernorm.restype = None


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features) * 0.02)
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        x = x.contiguous()
        out = torch.empty_like(x)
        cols = x.shape[-1]
        if x.numel():
            LIBRARY.bias_gelu_layernorm(
                out.data_ptr(),
                x.data_ptr(),
                self.bias.data_ptr(),
                self.norm.weight.data_ptr(),
                self.norm.bias.data_ptr(),
                x.numel() // cols,
                cols,
                self.norm.eps,
                torch.get_num_threads(),
            )
        return out
