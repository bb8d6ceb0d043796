# +++
# title = "Top-k of long rows in C++: a running threshold, so that almost every element costs one compare"
# languages = ["cpp"]
# bottleneck = "compute"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.topk.html",
# ]
# tags = ["sort", "simd", "nan"]
# problem = "problems/top_k.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "5.05x (3.96 to 5.82) against eager; 3.79 ms, eager 17.9 ms, torch.compile 21.0 ms; 256 x 32000 float32, k = 8, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""`torch.topk(x, k)` for small k: values in falling order and their int64 indices. float32.

The k best so far are kept sorted. Once they are filled, an element matters only if it beats the k-th: in random data that happens about k *
ln(n / k) times in a row of n (some 66 times in 32,000 for k = 8), so nearly all work is the test. The test is done for a block of 64
elements at once: this comparison vectorises, and only a block with an element above the threshold is looked at element by element.

- Insertion into a sorted array of 8 is a short shift; for large k use a heap, for k near n sort.
- Equal values: torch does not promise which index it returns. Here the first one wins; a reference with ties may differ in the indices.
- NaN counts as the largest, as in torch: `!(x <= threshold)` is true for a NaN, and `before` places it ahead of every number.
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
#include <algorithm>
#include <cstdint>

constexpr int64_t BLOCK = 64;
constexpr int MOST = 64;

// Whether a comes before b: NaN first, then the larger one.
static inline bool before(float a, float b) { return a > b || (a != a && b == b); }

extern "C" void top_k(float* __restrict values, int64_t* __restrict indices, const float* __restrict x, int64_t rows, int64_t cols, int k,
                      int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* in = x + i * cols;
        float best[MOST];
        int64_t where[MOST];
        int held = 0;
        const auto offer = [&](int64_t j) {
            const float v = in[j];
            if (held == k && !before(v, best[k - 1])) return;
            int at = held < k ? held++ : k - 1;
            for (; at > 0 && before(v, best[at - 1]); --at) {
                best[at] = best[at - 1];
                where[at] = where[at - 1];
            }
            best[at] = v;
            where[at] = j;
        };
        int64_t j = 0;
        for (; j < std::min<int64_t>(k, cols); ++j) offer(j);
        for (; j + BLOCK <= cols; j += BLOCK) {
            const float threshold = best[k - 1];
            int any = 0;
#pragma omp simd reduction(| : any)
            for (int64_t b = 0; b < BLOCK; ++b) any |= !(in[j + b] <= threshold);
            if (any) for (int64_t b = 0; b < BLOCK; ++b) offer(j + b);
        }
        for (; j < cols; ++j) offer(j);
        std::copy(best, best + k, values + i * k);
        std::copy(where, where + k, indices + i * k);
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
LIBRARY.top_k.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2 + [ctypes.c_int] * 2
LIBRARY.top_k.restype = None


class ModelNew(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cols = x.shape[-1]
        if x.dtype != torch.float32 or not 0 < self.k <= min(cols, 64):
            raise ValueError("this kernel is for float32 and k of 1 to 64")
        x = x.contiguous()
        values = torch.empty(*x.shape[:-1], self.k)
        indices = torch.empty(*x.shape[:-1], self.k, dtype=torch.int64)
        LIBRARY.top_k(values.data_ptr(), indices.data_ptr(), x.data_ptr(), x.numel() // cols, cols, self.k, torch.get_num_threads())
        return values, indices
