# +++
# title = "Residual add and RMS norm in CUDA C++ for bfloat16: 16-byte loads of 8 values, statistics in fp32"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://arxiv.org/abs/1910.07467",
#   "https://docs.nvidia.com/cuda/cuda-math-api/index.html",
# ]
# tags = ["layernorm", "half", "precision", "fusion", "reduction", "vectorised-loads"]
# problem = "problems/residual_rms_norm.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "24 to 38 registers in 4 kernels, no spills, 32 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "28 to 64 registers in 4 kernels, no spills, 32 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 219 us a call, 1.61x (1.56 to 1.67) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "20 to 48 registers in 4 kernels, 24 bytes of spills in all, 32 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "20 to 48 registers in 4 kernels, 16 bytes of spills in all, 32 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""hidden = x + residual; out = hidden / rms(hidden) * weight. Returns both. bfloat16 in memory, float32 in registers.

- Eager runs six kernels over the activation; this one reads x and residual once and writes both outputs once: 8 bytes per element.
- A uint4 holds 8 bfloat16: 16 bytes a load, the widest that every architecture has. `__nv_bfloat162` pairs are converted two at a time.
- torch compiles extensions with `-D__CUDA_NO_BFLOAT16_CONVERSIONS__` and the like: no `float(x)` or `a * b` on 16-bit types. The intrinsics
  (`__bfloat1622float2`, `__floats2bfloat162_rn`) work with and without.
- The new residual is rounded to bfloat16 *before* the sum of squares, as the model does it: normalising the unrounded sum differs in the last bit.
- Sum of squares in fp32: fp16 would overflow at 65,504, bfloat16 has 8 bits.
- 1, 2 or 4 vectors a thread (up to 8,192 features in a block of 256 threads) stay in registers. Other lengths take the scalar kernel, which reads
  the hidden state again that it has just written.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_bf16.h>

constexpr int THREADS = 256;

__device__ float sum_over_block(float value) {
    __shared__ float part[THREADS / 32];
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) value += __shfl_xor_sync(0xffffffffu, value, lane);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();  // called once a kernel: no barrier before the store
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < THREADS / 32; ++i) sum += part[i];
    return sum;
}

union Eight {
    uint4 bits;
    __nv_bfloat162 pairs[4];
};

template <int VECTORS>
__global__ void __launch_bounds__(THREADS) norm_vectors(uint4* __restrict__ out, uint4* __restrict__ hidden, const uint4* __restrict__ x,
                                                        const uint4* __restrict__ residual, const uint4* __restrict__ weight, int vectors, float eps) {
    const long long start = blockIdx.x * (long long)vectors;
    Eight h[VECTORS], r[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        h[k].bits = i < vectors ? x[start + i] : make_uint4(0, 0, 0, 0);
        r[k].bits = i < vectors ? residual[start + i] : make_uint4(0, 0, 0, 0);
    }
    float square = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float2 a = __bfloat1622float2(h[k].pairs[j]), b = __bfloat1622float2(r[k].pairs[j]);
            h[k].pairs[j] = __floats2bfloat162_rn(a.x + b.x, a.y + b.y);
            const float2 rounded = __bfloat1622float2(h[k].pairs[j]);
            square += rounded.x * rounded.x + rounded.y * rounded.y;
        }
        const int i = threadIdx.x + k * THREADS;
        if (i < vectors) hidden[start + i] = h[k].bits;
    }
    const float scale = rsqrtf(sum_over_block(square) / (8.0f * vectors) + eps);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= vectors) continue;
        Eight w, y;
        w.bits = weight[i];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float2 a = __bfloat1622float2(h[k].pairs[j]), b = __bfloat1622float2(w.pairs[j]);
            y.pairs[j] = __floats2bfloat162_rn(a.x * scale * b.x, a.y * scale * b.y);
        }
        out[start + i] = y.bits;
    }
}

__global__ void __launch_bounds__(THREADS) norm_any(__nv_bfloat16* out, __nv_bfloat16* hidden, const __nv_bfloat16* x, const __nv_bfloat16* residual,
                                                    const __nv_bfloat16* weight, int cols, float eps) {
    const long long start = blockIdx.x * (long long)cols;
    float square = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        const __nv_bfloat16 h = __float2bfloat16_rn(__bfloat162float(x[start + i]) + __bfloat162float(residual[start + i]));
        hidden[start + i] = h;
        square += __bfloat162float(h) * __bfloat162float(h);
    }
    const float scale = rsqrtf(sum_over_block(square) / cols + eps);
    // Every thread reads back only what it has written itself.
    for (int i = threadIdx.x; i < cols; i += THREADS)
        out[start + i] = __float2bfloat16_rn(__bfloat162float(hidden[start + i]) * scale * __bfloat162float(weight[i]));
}

void residual_rms_norm(torch::Tensor out, torch::Tensor hidden, torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps) {
    const c10::cuda::CUDAGuard guard(x.device());
    const int64_t cols = x.size(-1), rows = cols ? x.numel() / cols : 0;
    TORCH_CHECK(residual.numel() == x.numel() && weight.numel() >= cols, "residual and weight must fit x");
    TORCH_CHECK(rows < (1LL << 31) && cols < (1LL << 31) - THREADS, "too many rows or columns");
    if (rows == 0) return;
    auto stream = at::cuda::getCurrentCUDAStream();
    void *a = x.data_ptr(), *b = residual.data_ptr(), *w = weight.data_ptr(), *y = out.data_ptr(), *h = hidden.data_ptr();
    const uintptr_t places = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(w);
    const int vectors = cols / 8;
#define LAUNCH(N)                                                                                                                           \
    norm_vectors<N><<<rows, THREADS, 0, stream>>>(static_cast<uint4*>(y), static_cast<uint4*>(h), static_cast<const uint4*>(a),             \
                                                  static_cast<const uint4*>(b), static_cast<const uint4*>(w), vectors, float(eps))
    if (cols % 8 != 0 || places % 16 != 0 || vectors > 4 * THREADS)
        norm_any<<<rows, THREADS, 0, stream>>>(static_cast<__nv_bfloat16*>(y), static_cast<__nv_bfloat16*>(h), static_cast<const __nv_bfloat16*>(a),
                                               static_cast<const __nv_bfloat16*>(b), static_cast<const __nv_bfloat16*>(w), cols, float(eps));
    else if (vectors <= THREADS) LAUNCH(1);
    else if (vectors <= 2 * THREADS) LAUNCH(2);
    else LAUNCH(4);
#undef LAUNCH
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

CPP = (
    "void residual_rms_norm(torch::Tensor out, torch::Tensor hidden, torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps);"
)
module = load_inline("kw_residual_rms_norm", cpp_sources=CPP, cuda_sources=CUDA, functions=["residual_rms_norm"])


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(features) * 0.1 + 1.0).to(torch.bfloat16))
        self.eps = 1e-6

    def forward(self, x: torch.Tensor, residual: torch.Tensor):
        if x.dtype != torch.bfloat16 or residual.dtype != torch.bfloat16:
            raise TypeError(f"this kernel is for bfloat16, not {x.dtype} and {residual.dtype}")
        x, residual = x.contiguous(), residual.contiguous()
        out, hidden = torch.empty_like(x), torch.empty_like(x)
        module.residual_rms_norm(out, hidden, x, residual, self.weight, self.eps)
        return out, hidden
