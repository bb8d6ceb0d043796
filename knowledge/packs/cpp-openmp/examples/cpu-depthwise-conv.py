# +++
# title = "Depthwise 3 x 3 convolution with bias and ReLU6 in C++: three input rows, nine constants, no im2col"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html",
#   "https://arxiv.org/abs/1704.04861",
# ]
# tags = ["convolution", "fusion", "simd", "cache"]
# problem = "problems/depthwise_conv.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.85x (1.50 to 2.16) against eager; 8.27 ms, eager 14.4 ms, torch.compile 14.5 ms; (8, 96, 112, 112) float32, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""Depthwise convolution, 3 x 3, stride 1, padding 1, then `relu6`, on NCHW float32.

A depthwise convolution has 9 multiplications per output and no sum over channels, so it is bound by memory, not by arithmetic: no matrix
product, no im2col. Each output row needs three input rows, which are in L1 or L2 since the previous output row used two of them. Bias and
activation are applied while the row is in registers.

- The nine weights are scalars outside the loop over columns; the inner loop has unit stride and vectorises (nine fused multiply-adds).
- Borders: the first and the last column are done apart, so that the inner loop has no conditions. Rows outside the image point at a row of
  zeros.
- (batch, channel) planes are independent and go to the threads.
- `relu6` as two selections passes NaN on, as torch does: `x < 0 ? 0 : x` keeps a NaN, `std::max(0.0f, x)` would not in every order of
  arguments.
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
#include <vector>

static inline float relu6(float x) {
    const float low = x < 0.0f ? 0.0f : x;
    return low > 6.0f ? 6.0f : low;
}

extern "C" void depthwise3x3(float* __restrict out, const float* __restrict x, const float* __restrict weight, const float* __restrict bias,
                             int64_t batch, int64_t channels, int64_t height, int64_t width, int threads) {
    const std::vector<float> zeros(width, 0.0f);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t plane = 0; plane < batch * channels; ++plane) {
        const int64_t c = plane % channels;
        const float* w = weight + c * 9;
        const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
        const float b = bias[c];
        const float* in = x + plane * height * width;
        float* o = out + plane * height * width;
        for (int64_t i = 0; i < height; ++i) {
            const float* above = i > 0 ? in + (i - 1) * width : zeros.data();
            const float* here = in + i * width;
            const float* below = i + 1 < height ? in + (i + 1) * width : zeros.data();
            float* __restrict row = o + i * width;
            const auto edge = [&](int64_t j) {
                float sum = b + w1 * above[j] + w4 * here[j] + w7 * below[j];
                if (j > 0) sum += w0 * above[j - 1] + w3 * here[j - 1] + w6 * below[j - 1];
                if (j + 1 < width) sum += w2 * above[j + 1] + w5 * here[j + 1] + w8 * below[j + 1];
                return relu6(sum);
            };
            row[0] = edge(0);
            for (int64_t j = 1; j < width - 1; ++j) {
                const float sum = b + w0 * above[j - 1] + w1 * above[j] + w2 * above[j + 1] + w3 * here[j - 1] + w4 * here[j] + w5 * here[j + 1] +
                                  w6 * below[j - 1] + w7 * below[j] + w8 * below[j + 1];
                row[j] = relu6(sum);
            }
            row[width - 1] = edge(width - 1);
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
LIBRARY.depthwise3x3.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 4 + [ctypes.c_int]
LIBRARY.depthwise3x3.restype = None


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        x = x.contiguous()
        out = torch.empty_like(x)
        weight, bias = self.conv.weight.contiguous(), self.conv.bias
        if x.numel():
            LIBRARY.depthwise3x3(out.data_ptr(), x.data_ptr(), weight.data_ptr(), bias.data_ptr(), *x.shape, torch.get_num_threads())
        return out
