# +++
# title = "Aurora-1: silu gate, element by element, in tiles of one transfer"
# bottleneck = "memory_bandwidth"
# sources = ["documents/aurora.h"]
# problem = "problems/silu_gate.py"
# tags = ["dma", "reciprocal", "fence"]
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "0.58x (0.51 to 0.71) against torch.compile, host implementation, 2048 x 2050 float32, 2 threads of a Xeon with AVX-512" },
#   { target = "aurora-1", status = "not_run", text = "no Aurora-1 is within the evaluator's reach; run with the host implementation of its intrinsics" },
# ]
# +++
"""Solves problems/silu_gate.py. Each item is one tile of 3072 elements, the longest transfer: in, computed in the scratchpad, out.

- Three pads of 12288 bytes take 36 of the 48 KiB. The last tile is shorter: the transfer fills it up to whole vectors.
- 1 / (1 + 2^t) is `aur_rcp` and one Newton step. t stops at 126: an infinite denominator would make that step NaN.
"""

import ctypes, hashlib, os, subprocess, tempfile
from pathlib import Path

import torch
from torch import nn

# documents/aurora.h of this pack, unchanged. A candidate sees no other file, so it brings the header along.
AURORA_H = r"""
// aurora.h: the intrinsics of Aurora-1, with an implementation for the host. A kernel that keeps to these names runs on both.
// With AUR_STRICT the host also checks, at every call, what the device does not forgive: alignment and missing fences.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int AUR_LANES = 24;           // float32 lanes of a vector register
constexpr int AUR_ALIGN = 48;           // bytes: what every scratchpad address is a multiple of
constexpr int AUR_PAD_BYTES = 48 << 10; // scratchpad of a core
constexpr int AUR_DMA_BYTES = 12 << 10; // the longest transfer

typedef float aur_f8 __attribute__((vector_size(32)));
typedef int32_t aur_i8 __attribute__((vector_size(32)));
struct aur_v24 { aur_f8 part[3]; };

inline void aur_check(bool kept, const char* error) { if (!kept) { std::fprintf(stderr, "%s\n", error); std::abort(); } }
inline void aur_aligned(const void* pad) { aur_check(uintptr_t(pad) % AUR_ALIGN == 0, "AUR-E201: scratchpad address is not a multiple of 48"); }
#ifdef AUR_STRICT
inline thread_local bool aur_pending = false;
#define AUR_IF_STRICT(statement) statement
#else
#define AUR_IF_STRICT(statement)
#endif

struct aur_core {  // one core while it works on one item; its scratchpad begins empty
    float* alloc(int64_t floats) {
        int64_t bytes = (floats + AUR_LANES - 1) / AUR_LANES * AUR_LANES * 4;
        aur_check(used + bytes <= AUR_PAD_BYTES, "AUR-E310: scratchpad exhausted");
        uintptr_t first = (uintptr_t(memory) + AUR_ALIGN - 1) / AUR_ALIGN * AUR_ALIGN;
        float* pad = reinterpret_cast<float*>(first + used);
        used += bytes;
        return pad;
    }
    alignas(64) char memory[AUR_PAD_BYTES + AUR_ALIGN];
    int64_t used = 0;
    aur_core() {}
};

template <class Body> void aur_launch(int cores, int64_t items, Body body) {
#pragma omp parallel for schedule(static) num_threads(cores)
    for (int64_t item = 0; item < items; ++item) { aur_core core; body(core, item); }
}

inline void aur_dma_in(float* pad, const float* memory, int64_t count, float fill) {
    aur_aligned(pad);
    aur_check(count * 4 <= AUR_DMA_BYTES, "AUR-E305: transfer of more than 12288 bytes");
    std::memcpy(pad, memory, count * 4);
    for (int64_t i = count; i % AUR_LANES != 0; ++i) pad[i] = fill;
}
inline void aur_fence() { asm volatile("" ::: "memory"); AUR_IF_STRICT(aur_pending = false;) }
inline void aur_dma_out(float* memory, const float* pad, int64_t count) {
    AUR_IF_STRICT(aur_check(!aur_pending, "AUR-E207: transfer out of stores that no fence has made visible");)
    aur_aligned(pad);
    aur_check(count * 4 <= AUR_DMA_BYTES, "AUR-E305: transfer of more than 12288 bytes");
    std::memcpy(memory, pad, count * 4);
}
inline aur_v24 aur_load(const float* pad) { AUR_IF_STRICT(aur_aligned(pad);) aur_v24 v; std::memcpy(&v, pad, 96); return v; }
inline void aur_store(float* pad, aur_v24 v) { AUR_IF_STRICT(aur_aligned(pad); aur_pending = true;) std::memcpy(pad, &v, 96); }

#define AUR_EACH(expression) \
    { auto one = [&](int p) __attribute__((always_inline)) { return expression; }; return {{one(0), one(1), one(2)}}; }
inline aur_v24 aur_splat(float x) AUR_EACH(aur_f8{} + x)
inline aur_v24 aur_add(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] + b.part[p])
inline aur_v24 aur_sub(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] - b.part[p])
inline aur_v24 aur_mul(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] * b.part[p])
inline aur_v24 aur_fma(aur_v24 a, aur_v24 b, aur_v24 c) AUR_EACH(a.part[p] * b.part[p] + c.part[p])
inline aur_v24 aur_nmsub(aur_v24 a, aur_v24 b, aur_v24 c) AUR_EACH(c.part[p] - a.part[p] * b.part[p])
inline aur_v24 aur_min(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] < b.part[p] ? a.part[p] : b.part[p])
inline aur_v24 aur_max(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] > b.part[p] ? a.part[p] : b.part[p])
inline aur_v24 aur_rcp(aur_v24 x) AUR_EACH((aur_f8)((aur_i8)(1.0f / x.part[p]) & ~0x7ff))
inline aur_f8 aur_exp2_part(aur_f8 x) {
    aur_f8 low = aur_f8{} - 127.0f, high = aur_f8{} + 128.0f;
    x = low > x ? low : x;
    x = high < x ? high : x;
    aur_f8 whole = (x + 12582912.0f) - 12582912.0f, f = x - whole;
    aur_f8 y = 1.0f + f * (0.69314718f + f * (0.24022651f + f * (0.05550411f + f * (0.00961813f + f * (0.00133336f + f * 0.00015404f)))));
    return y * (aur_f8)((__builtin_convertvector(whole, aur_i8) + 127) << 23);
}
inline aur_v24 aur_exp2(aur_v24 x) AUR_EACH(aur_exp2_part(x.part[p]))
inline float aur_sum(aur_v24 v) {
    aur_f8 s = v.part[0] + v.part[1] + v.part[2];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}
inline float aur_hmax(aur_v24 v) {
    float m = v.part[0][0];
    for (int i = 1; i < AUR_LANES; ++i) { float x = v.part[i / 8][i % 8]; m = m > x ? m : x; }
    return m;
}
"""

KERNEL = r"""
constexpr int64_t TILE = 3072;  // 128 vectors: one transfer

static aur_v24 reciprocal(aur_v24 d) {
    aur_v24 r = aur_rcp(d);
    return aur_mul(r, aur_nmsub(d, r, aur_splat(2.0f)));
}

extern "C" void silu_gate(float* out, const float* gate, const float* value, int64_t tiles, int64_t count, int cores) {
    aur_launch(cores, tiles, [=](aur_core& core, int64_t tile) {
        int64_t first = tile * TILE, n = count - first < TILE ? count - first : TILE;
        float *g = core.alloc(TILE), *v = core.alloc(TILE), *o = core.alloc(TILE);
        aur_dma_in(g, gate + first, n, 0.0f);
        aur_dma_in(v, value + first, n, 0.0f);
        for (int64_t i = 0; i < n; i += AUR_LANES) {
            aur_v24 x = aur_load(g + i);
            aur_v24 t = aur_min(aur_splat(126.0f), aur_mul(x, aur_splat(-1.44269504f)));
            aur_v24 sigmoid = reciprocal(aur_add(aur_splat(1.0f), aur_exp2(t)));
            aur_store(o + i, aur_mul(aur_mul(x, sigmoid), aur_load(v + i)));
        }
        aur_fence();
        aur_dma_out(out + first, o, n);
    });
}
"""
FLAGS = ["-O3", "-march=native", "-std=c++20", "-fopenmp", "-shared", "-fPIC"]


def load_library(source):
    key = hashlib.sha256("\0".join([source, *FLAGS]).encode()).hexdigest()[:24]
    library = Path(tempfile.gettempdir()) / f"aurora-{key}.so"
    if not library.exists():
        partial = library.with_suffix(f".{os.getpid()}.part")
        build = subprocess.run(["g++", *FLAGS, "-x", "c++", "-", "-o", str(partial)], input=source, text=True, capture_output=True)
        if build.returncode != 0:
            raise RuntimeError(f"g++ failed:\n{build.stderr}")
        partial.rename(library)
    return ctypes.CDLL(str(library))

LIBRARY = load_library(AURORA_H + KERNEL)
LIBRARY.silu_gate.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2 + [ctypes.c_int]
LIBRARY.silu_gate.restype = None


class ModelNew(nn.Module):
    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        gate, value = gate.contiguous(), value.contiguous()
        out = torch.empty_like(gate)
        tiles = -(-out.numel() // 3072)  # counted here: Aurora-1 cannot divide
        LIBRARY.silu_gate(out.data_ptr(), gate.data_ptr(), value.data_ptr(), tiles, out.numel(), torch.get_num_threads())
        return out
