# +++
# title = "Max pooling 3 x 3 stride 2 in C++: column maxima once, NaN kept, no index tensor"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html",
# ]
# tags = ["pooling", "simd", "nan", "threads"]
# problem = "problems/max_pool.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "2.35x (2.03 to 2.61) against torch.compile; 3.62 ms, eager 32.4 ms, torch.compile 8.19 ms; (8, 64, 112, 112) float32, 2 shared cores of a Zen 4 EPYC" },
# ]
# +++
"""Max pooling, 3 x 3, stride 2, padding 1, on NCHW float32.

torch's pooling keeps the index of every maximum for the backward pass; inference does not need it. The window separates: first the maximum
of three input rows, element by element with unit stride (this vectorises and touches every input once), into a row buffer in L1; then the
maximum of three neighbours with stride 2 out of that buffer.

- The padding is -inf, which never wins. The buffer has one such element at either end, so the second loop has no conditions.
- NaN: torch gives NaN for a window with a NaN. `b > a || b != b ? b : a` takes b when it is larger or NaN, and keeps a NaN that a already
  is, because nothing is larger than NaN. Plain `std::max` drops NaN depending on the order.
- Planes go to the threads; the buffer is declared inside the parallel region, one per thread.
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

static inline float larger(float a, float b) { return b > a || b != b ? b : a; }

extern "C" void max_pool3x3s2(float* __restrict out, const float* __restrict x, int64_t planes, int64_t height, int64_t width,
                              int64_t out_height, int64_t out_width, int threads) {
    const float lowest = -__builtin_inff();
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> columns(2 * out_width + 2, lowest);  // columns[j + 1]: maximum of column j over three rows
        float* __restrict c = columns.data();
#pragma omp for schedule(static)
        for (int64_t plane = 0; plane < planes; ++plane) {
            const float* in = x + plane * height * width;
            for (int64_t i = 0; i < out_height; ++i) {
                const int64_t middle = 2 * i;
                const float* here = in + middle * width;
                const float* above = middle > 0 ? here - width : here;
                const float* below = middle + 1 < height ? here + width : here;
                for (int64_t j = 0; j < width; ++j) c[j + 1] = larger(larger(above[j], here[j]), below[j]);
                float* __restrict o = out + (plane * out_height + i) * out_width;
                for (int64_t j = 0; j < out_width; ++j) o[j] = larger(larger(c[2 * j], c[2 * j + 1]), c[2 * j + 2]);
            }
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
LIBRARY.max_pool3x3s2.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 5 + [ctypes.c_int]
LIBRARY.max_pool3x3s2.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        x = x.contiguous()
        batch, channels, height, width = x.shape
        out_height, out_width = (height - 1) // 2 + 1, (width - 1) // 2 + 1
        out = torch.empty(batch, channels, out_height, out_width)
        if x.numel():
            LIBRARY.max_pool3x3s2(
                out.data_ptr(), x.data_ptr(), batch * channels, height, width, out_height, out_width, torch.get_num_threads()
            )
        return out
