# +++
# title = "Row scaling plus addition in C++: one fused pass instead of a dense matrix product"
# languages = ["cpp"]
# architectures = ["x86_64"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "measured: torch.diag(a) @ b + d at 4096 x 4096 fp32 on two x86 cores: reference 678 ms, this form 17.7 ms",
#   "https://docs.python.org/3/library/ctypes.html",
# ]
# tags = ["fusion", "ctypes", "openmp"]
# problem = "problems/row_scale_add.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "62x (40 to 106) against eager torch, 2048 x 2048 float32, two x86 cores with AVX-512, busy with other work" },
# ]
# +++
"""`y[i, j] = scale[i] * b[i, j] + d[i, j]`: the form to use for `torch.diag(scale) @ b + d`.

A diagonal matrix times a dense one is a row scaling: n*n multiplications instead of n**3, and the diagonal matrix is never built.
What is left moves three matrices through memory once (2 reads, 1 write) and does one fused multiply-add per element, so it runs at
memory bandwidth; neither wider vectors nor blocking change that. `torch.addcmul(d, scale[:, None], b)` does the same pass: the gain
over the reference is algebra, not C++. Writing it in C++ pays once more operations are fused into the same pass.

How the file is put together (the other C++ examples use the same loader):
- The C++ is `extern "C"` on raw pointers and compiled by g++ from standard input in about 0.2 s. No torch header is included.
- The library's name is a hash of source and flags, and it appears by rename, so parallel runs never load a half-written file.
- Python checks dtype and shape, makes inputs contiguous, allocates with `torch.empty`, and passes `data_ptr()`s. ctypes releases the
  GIL during the call.
- The thread count is passed in, so the kernel follows `torch.set_num_threads`. `schedule(static)` gives each thread one block of rows.
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

extern "C" void row_scale_add(float* __restrict out, const float* __restrict scale, const float* __restrict b, const float* __restrict d,
                              int64_t rows, int64_t cols, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float s = scale[i];
        const float* bi = b + i * cols;
        const float* di = d + i * cols;
        float* oi = out + i * cols;
        for (int64_t j = 0; j < cols; ++j) oi[j] = s * bi[j] + di[j];
    }
}
"""

FLAGS = ["-O3", "-march=native", "-std=c++20", "-fopenmp", "-shared", "-fPIC"]


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
LIBRARY.row_scale_add.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 2 + [ctypes.c_int]
LIBRARY.row_scale_add.restype = None


class ModelNew(nn.Module):
    def forward(self, scale: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        for tensor in (scale, b, d):
            if tensor.dtype != torch.float32:
                raise TypeError(f"this kernel is for float32, not {tensor.dtype}")
        rows, cols = b.shape
        if scale.shape != (rows,) or d.shape != (rows, cols):
            raise ValueError("expected scale[n], b[n, m] and d[n, m]")
        scale, b, d = scale.contiguous(), b.contiguous(), d.contiguous()
        out = torch.empty_like(b)
        LIBRARY.row_scale_add(
            out.data_ptr(), scale.data_ptr(), b.data_ptr(), d.data_ptr(), rows, cols, torch.get_num_threads()
        )
        return out
