# +++
# title = "Histogram (bincount) in C++: private bins per thread, four copies in turn"
# languages = ["cpp"]
# bottleneck = "latency"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.bincount.html",
#   "measured: 262,144 int64 ids in cache, one Zen 4 core, gcc 12: ns per id in the text",
# ]
# tags = ["histogram", "threads", "cache"]
# problem = "problems/histogram.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.87x (1.58 to 2.47) against eager; 3.02 ms, eager 6.06 ms, torch.compile 6.13 ms; 4,194,304 int64 ids, 1024 bins, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""`torch.bincount(ids, minlength=bins)` for ids that are known to lie in [0, bins): int64 counts.

Every increment loads, adds and stores, and an increment of the same bin has to wait for the one before. Four copies of the bins, used in
turn, make four independent chains: on one Zen 4 core 0.57 ns an id with one copy, 0.32 with two, 0.30 with four (uniform ids over 1024
bins; all in few bins 0.56, 0.42, 0.46). Each thread has copies of its own, so nothing is atomic and no cache line moves between cores; the
copies are added at the end.

- uint32 bins as long as a thread has fewer than 2^32 elements: half the cache of int64. 1024 bins * 4 copies are 16 KiB, which fits into
  L1.
- Ids outside the bins are counted and reported instead of written: an index from data is checked, always. torch grows the output for larger
  ids; this kernel is for a known number of bins.
- It is scalar on purpose: lanes of a vector may hold the same bin, and a scatter keeps only one of them.
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

constexpr int COPIES = 4;

// Returns how many ids lie outside [0, bins).
extern "C" int64_t histogram(int64_t* __restrict counts, const int64_t* __restrict ids, int64_t n, int64_t bins, int threads) {
    const int64_t padded = (bins + 15) / 16 * 16;
    std::vector<uint32_t> all(static_cast<int64_t>(threads) * COPIES * padded);
    int64_t outside = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : outside)
    for (int t = 0; t < threads; ++t) {
        uint32_t* mine = all.data() + static_cast<int64_t>(t) * COPIES * padded;
        const int64_t from = n * t / threads, to = n * (t + 1) / threads;
        int64_t i = from;
        for (; i + COPIES <= to; i += COPIES)
            for (int c = 0; c < COPIES; ++c) {
                const uint64_t id = static_cast<uint64_t>(ids[i + c]);
                if (id < static_cast<uint64_t>(bins)) ++mine[c * padded + id];
                else ++outside;
            }
        for (; i < to; ++i) {
            const uint64_t id = static_cast<uint64_t>(ids[i]);
            if (id < static_cast<uint64_t>(bins)) ++mine[id];
            else ++outside;
        }
    }
    for (int64_t b = 0; b < bins; ++b) {
        int64_t sum = 0;
        for (int t = 0; t < threads * COPIES; ++t) sum += all[static_cast<int64_t>(t) * padded + b];
        counts[b] = sum;
    }
    return outside;
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
LIBRARY.histogram.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_int]
LIBRARY.histogram.restype = ctypes.c_int64


class ModelNew(nn.Module):
    def __init__(self, bins: int):
        super().__init__()
        self.bins = bins

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        if ids.dtype != torch.int64:
            raise TypeError(f"expected int64 ids, not {ids.dtype}")
        ids = ids.contiguous()
        counts = torch.empty(self.bins, dtype=torch.int64)
        outside = LIBRARY.histogram(counts.data_ptr(), ids.data_ptr(), ids.numel(), self.bins, torch.get_num_threads())
        if outside:
            raise IndexError(f"{outside} ids are not in [0, {self.bins})")
        return counts
