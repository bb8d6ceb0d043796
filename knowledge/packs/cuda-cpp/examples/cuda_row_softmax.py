# +++
# title = "Row softmax in CUDA C++: the row stays in registers between maximum, sum and output"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html",
#   "https://arxiv.org/abs/1805.02867",
# ]
# tags = ["softmax", "reduction", "shuffle", "vectorised-loads"]
# problem = "problems/row_softmax.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "20 to 63 registers in 5 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "20 to 64 registers in 5 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 397 us a call, 0.70x (0.70 to 0.70) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "20 to 63 registers in 5 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "20 to 61 registers in 5 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""Softmax over the last dimension, float32, any row length; one block of 512 threads per row.

- Up to 16,384 columns, a multiple of 4, aligned to 16 bytes: every thread keeps 1, 2, 4 or 8 float4 in registers. One read and one write of memory.
  The number is a template argument: a loop with a run-time bound over a register array would put it into local memory.
- Anything else: two sweeps. The first keeps a running maximum and a sum that is rescaled when the maximum grows (online softmax), the second
  reads the row again, mostly from L2. 12 bytes of traffic per element in place of 8 when the row is not found there.
- Missing elements of the last quad are -inf: exp gives 0 and the sum does not see them.
- `fmaxf` drops a NaN, but exp(NaN - top) is NaN and so is the sum: a row with a NaN is NaN throughout, as in torch. A row of only -inf is NaN as well.
- In the online merge -inf minus -inf has to be avoided: a thread that has seen nothing has the maximum -inf and the sum 0.
- Both barriers of `over_block` are needed: without the first, a warp may overwrite `part` of the previous call while another still reads it.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

constexpr int THREADS = 512;

template <bool MAXIMUM> __device__ float over_block(float value, float* part) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) {
        const float other = __shfl_xor_sync(0xffffffffu, value, lane);
        value = MAXIMUM ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[threadIdx.x % (THREADS / 32)];  // 16 partials, each of them read by two lanes of every warp
#pragma unroll
    for (int lane = THREADS / 64; lane > 0; lane >>= 1) {
        const float other = __shfl_xor_sync(0xffffffffu, value, lane);
        value = MAXIMUM ? fmaxf(value, other) : value + other;
    }
    return value;
}

template <int QUADS>
__global__ void __launch_bounds__(THREADS) softmax_registers(float4* __restrict__ out, const float4* __restrict__ in, int quads) {
    __shared__ float part[THREADS / 32];
    const long long start = blockIdx.x * (long long)quads;
    float4 v[QUADS];
    float top = -INFINITY;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        v[k] = i < quads ? in[start + i] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    }
    top = over_block<true>(top, part);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        v[k] = make_float4(expf(v[k].x - top), expf(v[k].y - top), expf(v[k].z - top), expf(v[k].w - top));
        if (threadIdx.x + k * THREADS < quads) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);  // a row of -inf: NaN, not 0
    }
    const float scale = 1.0f / over_block<false>(sum, part);
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i < quads) out[start + i] = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
    }
}

__global__ void __launch_bounds__(THREADS) softmax_online(float* __restrict__ out, const float* __restrict__ in, int cols) {
    __shared__ float part[THREADS / 32];
    const float* row = in + blockIdx.x * (long long)cols;
    float* to = out + blockIdx.x * (long long)cols;
    float top = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        const float x = row[i];
        if (x > top) {
            sum = sum * expf(top - x) + 1.0f;
            top = x;
        } else {
            sum += x == -INFINITY ? 0.0f : expf(x - top);  // NaN comes here as well
        }
    }
    const float highest = over_block<true>(top, part);
    // All of the row -inf: 0 / 0 below is the NaN that torch gives.
    sum = over_block<false>(top == -INFINITY ? sum : sum * expf(top - highest), part);
    const float scale = 1.0f / sum;
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        const float x = row[i];
        to[i] = x == -INFINITY ? 0.0f * scale : expf(x - highest) * scale;
    }
}

torch::Tensor row_softmax(torch::Tensor x) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty_like(x);
    const int64_t cols = x.size(-1), rows = cols ? x.numel() / cols : 0;
    TORCH_CHECK(rows < (1LL << 31) && cols < (1LL << 31) - THREADS, "too many rows or columns");
    if (rows == 0) return out;
    float* to = out.data_ptr<float>();
    const float* from = x.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    const bool vectors = cols % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0 && cols <= 32 * THREADS;
    float4* to4 = reinterpret_cast<float4*>(to);
    const float4* from4 = reinterpret_cast<const float4*>(from);
    const int quads = cols / 4;
    if (!vectors) softmax_online<<<rows, THREADS, 0, stream>>>(to, from, cols);
    else if (quads <= THREADS) softmax_registers<1><<<rows, THREADS, 0, stream>>>(to4, from4, quads);
    else if (quads <= 2 * THREADS) softmax_registers<2><<<rows, THREADS, 0, stream>>>(to4, from4, quads);
    else if (quads <= 4 * THREADS) softmax_registers<4><<<rows, THREADS, 0, stream>>>(to4, from4, quads);
    else softmax_registers<8><<<rows, THREADS, 0, stream>>>(to4, from4, quads);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("kw_row_softmax", cpp_sources="torch::Tensor row_softmax(torch::Tensor x);", cuda_sources=CUDA, functions=["row_softmax"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        return module.row_softmax(x.contiguous())
