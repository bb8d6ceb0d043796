# +++
# title = "SwiGLU gate in C++: silu(gate) * up over two halves of one row, vectorised expf from libmvec"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://sourceware.org/glibc/wiki/libmvec",
#   "https://gcc.gnu.org/onlinedocs/gcc/Common-Function-Attributes.html",
#   "https://arxiv.org/abs/2002.05202",
# ]
# tags = ["activation", "fusion", "simd", "libm"]
# problem = "problems/swiglu.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "1.13x (0.54 to 1.57) against torch.compile; 9.68 ms, eager 19.7 ms, torch.compile 11.0 ms; 2048 x 5632 float32, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""`silu(x[..., :n]) * x[..., n:]`, the gate of a SwiGLU feed-forward layer after one fused projection. float32.

Both halves are read where they lie: no `chunk` copies, no intermediate for the activation. 2 reads and 1 write per result instead of 5
passes.

- The declaration with `__attribute__((simd("notinbranch")))` tells GCC that `expf` has vector variants; a loop over it then calls
  `_ZGVdN8v_expf` or `_ZGVeN16v_expf` of libmvec (glibc 2.22 or newer, x86-64) in place of one scalar call per element. Where there is no
  libmvec (musl, aarch64 before glibc 2.38) drop the attribute or use a polynomial.
- `x / (1 + exp(-x))` is right at both ends: exp saturates to inf and 0, so the result is -0 and x. x = -inf gives NaN, as in torch.
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

#if defined(__x86_64__)
extern "C" __attribute__((simd("notinbranch"))) float expf(float);
#else
extern "C" float expf(float);
#endif

extern "C" void swiglu(float* __restrict out, const float* __restrict x, int64_t rows, int64_t half, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        const float* gate = x + i * 2 * half;
        const float* up = gate + half;
        float* o = out + i * half;
        for (int64_t j = 0; j < half; ++j) o[j] = gate[j] / (1.0f + expf(-gate[j])) * up[j];
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
LIBRARY.swiglu.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_int]
LIBRARY.swiglu.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32 or x.shape[-1] % 2:
            raise TypeError("this kernel is for float32 with an even last dimension")
        x = x.contiguous()
        half = x.shape[-1] // 2
        out = torch.empty(*x.shape[:-1], half, dtype=x.dtype)
        if out.numel():
            LIBRARY.swiglu(out.data_ptr(), x.data_ptr(), out.numel() // half, half, torch.get_num_threads())
        return out
