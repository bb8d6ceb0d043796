# +++
# title = "Prefix sum along rows in CUDA C++: thread, warp and block scan with a carry between tiles"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://developer.nvidia.com/gpugems/gpugems3/part-vi-gpu-computing/chapter-39-parallel-prefix-sum-scan-cuda",
#   "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
# ]
# tags = ["scan", "shuffle", "barriers", "vectorised-loads", "precision"]
# problem = "problems/row_cumsum.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "29 to 31 registers in 2 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "30 to 32 registers in 2 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 328 us a call, 0.96x (0.96 to 0.97) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "31 to 32 registers in 2 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "35 to 36 registers in 2 kernels, no spills, 64 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""Inclusive sum along the last dimension, float32, any length; one block of 256 threads per row.

- A tile of 1,024 elements: each thread sums its 4 neighbours in registers, a warp scans 32 such totals with five shuffles, the 8 warp totals go
  through shared memory. Each element is read and written once.
- `__shfl_up_sync` returns the lane's own value where there is no lane below: the addition must be left out there (`lane >= distance`).
- Every thread adds up the totals of the warps before its own, at most 7, in place of a second scan with one more barrier.
- Two copies of `total`, used in turn: one barrier a tile is enough, because a warp can be ahead of the others by one barrier at most.
- The carry between tiles is the sum of all totals, the same number in every thread: no memory is needed for it.
- The next tile is loaded before the current one is scanned, so that its latency is hidden behind the barrier.
- Rounding: tiles are summed as a tree, the carry from left to right; torch's own order is another one, so results agree to rounding and not to the bit.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

constexpr int THREADS = 256, WARPS = THREADS / 32, TILE = 4 * THREADS;

template <bool VECTORS> __device__ float4 load(const float* __restrict__ row, int i, int cols) {
    if constexpr (VECTORS) {
        return i < cols ? *reinterpret_cast<const float4*>(row + i) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    } else {
        return make_float4(i < cols ? row[i] : 0.0f, i + 1 < cols ? row[i + 1] : 0.0f, i + 2 < cols ? row[i + 2] : 0.0f, i + 3 < cols ? row[i + 3] : 0.0f);
    }
}

template <bool VECTORS> __global__ void __launch_bounds__(THREADS) cumsum(float* __restrict__ out, const float* __restrict__ in, int cols) {
    __shared__ float total[2][WARPS];
    const float* row = in + blockIdx.x * (long long)cols;
    float* to = out + blockIdx.x * (long long)cols;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0.0f;
    int turn = 0;
    float4 next = load<VECTORS>(row, 4 * threadIdx.x, cols);
    for (int first = 0; first < cols; first += TILE, turn ^= 1) {
        const int i = first + 4 * threadIdx.x;
        float4 v = next;
        next = load<VECTORS>(row, i + TILE, cols);
        v.y += v.x, v.z += v.y, v.w += v.z;
        float sum = v.w;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            const float below = __shfl_up_sync(0xffffffffu, sum, distance);
            if (lane >= distance) sum += below;
        }
        if (lane == 31) total[turn][warp] = sum;
        __syncthreads();
        float before = carry;
#pragma unroll
        for (int k = 0; k < WARPS; ++k) {
            const float part = total[turn][k];
            if (k < warp) before += part;
            carry += part;
        }
        const float exclusive = __shfl_up_sync(0xffffffffu, sum, 1);
        if (lane > 0) before += exclusive;
        v = make_float4(before + v.x, before + v.y, before + v.z, before + v.w);
        if constexpr (VECTORS) {
            if (i < cols) *reinterpret_cast<float4*>(to + i) = v;
        } else {
            if (i < cols) to[i] = v.x;
            if (i + 1 < cols) to[i + 1] = v.y;
            if (i + 2 < cols) to[i + 2] = v.z;
            if (i + 3 < cols) to[i + 3] = v.w;
        }
    }
}

torch::Tensor row_cumsum(torch::Tensor x) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty_like(x);
    const int64_t cols = x.size(-1), rows = cols ? x.numel() / cols : 0;
    TORCH_CHECK(rows < (1LL << 31) && cols < (1LL << 31) - 2 * TILE, "too many rows or columns");
    if (rows == 0) return out;
    const bool vectors = cols % 4 == 0 && reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0;
    auto launch = vectors ? cumsum<true> : cumsum<false>;
    launch<<<rows, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), cols);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("kw_row_cumsum", cpp_sources="torch::Tensor row_cumsum(torch::Tensor x);", cuda_sources=CUDA, functions=["row_cumsum"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        return module.row_cumsum(x.contiguous())
