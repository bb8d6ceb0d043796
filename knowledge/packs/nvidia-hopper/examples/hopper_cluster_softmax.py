# +++
# title = "Softmax of long rows in CUDA C++: a cluster of 8 blocks holds a row, one exchange through DSMEM"
# languages = ["cuda"]
# architectures = ["sm_90", "sm_100", "sm_103", "sm_120"]
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
#   "https://docs.nvidia.com/cuda/hopper-tuning-guide/index.html",
# ]
# tags = ["clusters", "reduction", "shared-memory", "bandwidth"]
# problem = "problems/long_row_softmax.py"
# evidence = [
#   { target = "sm_90", status = "correct", text = "40 to 66 registers in 6 kernels, no spills, 136 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 861 us a call, 0.94x (0.93 to 0.95) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "39 to 96 registers in 6 kernels, no spills, 136 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "40 to 92 registers in 6 kernels, no spills, 136 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""Softmax over the last dimension, float32, up to 131,072 columns; 8 blocks of 512 threads form a cluster and hold one row in registers.

- Each element is read once and written once. One block alone would have to read rows above some 50,000 elements a second time.
- Each block computes exp(x - own maximum) and its sum, and publishes the pair in its shared memory. After `cluster.sync()` every block reads all eight
  pairs (64 bytes, distributed shared memory) and corrects its values by exp(own maximum - maximum) / sum: one exchange in place of two.
- The second `cluster.sync()` keeps a block from ending while others still read its shared memory.
- `__cluster_dims__` fixes the size at compile time and the kernel is launched with <<< >>>; the grid must be a multiple of 8. 8 is the largest portable size.
- A block that has seen only -inf subtracts 0 in place of -inf (exp(-inf) = 0), else it would produce NaN where the row is fine. If the whole row is -inf
  the correction exp(-inf + inf) is NaN, as in torch.
- float4 where the number of columns is a multiple of 4, guarded single elements otherwise.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 512, WARPS = THREADS / 32, BLOCKS = 8;

__device__ float warp_max(float v) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, lane));
    return v;
}
__device__ float warp_sum(float v) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) v += __shfl_xor_sync(0xffffffffu, v, lane);
    return v;
}

template <int QUADS, bool VECTORS>
__global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS) softmax(float* __restrict__ out, const float* __restrict__ in, int cols) {
    __shared__ float tops[WARPS], sums[WARPS];
    __shared__ float2 published;
    cg::cluster_group cluster = cg::this_cluster();
    const long long row = blockIdx.x / BLOCKS;
    const float* x = in + row * cols;
    float* y = out + row * cols;
    const int quads = (cols + 3) / 4, each = (quads + BLOCKS - 1) / BLOCKS, first = cluster.block_rank() * each, last = min(first + each, quads);
    float4 v[QUADS];
    float top = -INFINITY;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int q = first + threadIdx.x + k * THREADS, i = 4 * q;
        v[k] = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        if (q < last) {
            if constexpr (VECTORS) {
                v[k] = *reinterpret_cast<const float4*>(x + i);
            } else {
                v[k].x = x[i];
                if (i + 1 < cols) v[k].y = x[i + 1];
                if (i + 2 < cols) v[k].z = x[i + 2];
                if (i + 3 < cols) v[k].w = x[i + 3];
            }
        }
        top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    }
    top = warp_max(top);
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
    __syncthreads();
    top = warp_max(tops[threadIdx.x % WARPS]);
    const float base = top == -INFINITY ? 0.0f : top;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        v[k] = make_float4(expf(v[k].x - base), expf(v[k].y - base), expf(v[k].z - base), expf(v[k].w - base));
        sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (int warp = 0; warp < WARPS; ++warp) sum += sums[warp];
        published = make_float2(top, sum);
    }
    cluster.sync();
    float highest = -INFINITY, total = 0.0f;
    float2 pairs[BLOCKS];
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
        pairs[block] = *cluster.map_shared_rank(&published, block);
        highest = fmaxf(highest, pairs[block].x);
    }
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) total += pairs[block].y * expf(pairs[block].x - highest);
    cluster.sync();  // nobody leaves while another block still reads `published`
    const float scale = expf(top - highest) / total;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int q = first + threadIdx.x + k * THREADS, i = 4 * q;
        if (q >= last) continue;
        const float4 r = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
        if constexpr (VECTORS) {
            *reinterpret_cast<float4*>(y + i) = r;
        } else {
            y[i] = r.x;
            if (i + 1 < cols) y[i + 1] = r.y;
            if (i + 2 < cols) y[i + 2] = r.z;
            if (i + 3 < cols) y[i + 3] = r.w;
        }
    }
}

torch::Tensor cluster_softmax(torch::Tensor x) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty_like(x);
    const int64_t cols = x.size(-1), rows = cols ? x.numel() / cols : 0;
    TORCH_CHECK(cols <= 4 * 8 * THREADS * BLOCKS, "rows of ", cols, " elements do not fit into the registers of a cluster");
    TORCH_CHECK(rows < (1LL << 31) / BLOCKS, "too many rows");
    if (rows == 0) return out;
    const float* from = x.data_ptr<float>();
    const bool vectors = cols % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0;
    const int64_t each = ((cols + 3) / 4 + BLOCKS - 1) / BLOCKS;
    auto launch = each <= 2 * THREADS ? (vectors ? softmax<2, true> : softmax<2, false>)
                  : each <= 4 * THREADS ? (vectors ? softmax<4, true> : softmax<4, false>)
                                        : (vectors ? softmax<8, true> : softmax<8, false>);
    launch<<<rows * BLOCKS, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), from, cols);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor cluster_softmax(torch::Tensor x);"
module = load_inline("kw_hopper_cluster_softmax", cpp_sources=CPP, cuda_sources=CUDA, functions=["cluster_softmax"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        return module.cluster_softmax(x.contiguous())
