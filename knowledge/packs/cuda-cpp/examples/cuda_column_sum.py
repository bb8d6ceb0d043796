# +++
# title = "Column sums in CUDA C++: coalesced reduction over rows in two deterministic steps"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf",
#   "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html",
# ]
# tags = ["reduction", "coalescing", "vectorised-loads", "shared-memory"]
# problem = "problems/column_sum.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "32 to 48 registers in 2 kernels, no spills, 4,096 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "32 to 48 registers in 2 kernels, no spills, 4,096 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 409 us a call, 0.94x (0.93 to 0.96) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "40 to 54 registers in 2 kernels, no spills, 4,096 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "48 to 56 registers in 2 kernels, no spills, 4,096 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""out[c] = sum of x[r, c] over r, float32.

- Neighbouring threads take neighbouring columns and walk down the rows: every load of a warp is 512 contiguous bytes (float4). One thread block per
  column, the mirror image of a row reduction, would use 4 of every 32 bytes it moves.
- Columns alone are too few to fill a GPU: the rows are cut into chunks, and each block writes one partial row. The same kernel then adds the
  partials, as a matrix of `chunks` rows.
- The number of chunks is chosen for about 8 blocks an SM, with at least 64 rows each.
- No atomics: the same sum in the same order on every call. Chunks also bound the rounding error: each fp32 accumulator sees rows / chunks / 8 values.
- Four accumulators a thread are independent, so four loads are in flight; 8 warps of a block meet in shared memory once, at the end.
- Columns that are no multiple of 4 use the same template with float in place of float4.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

constexpr int LANES = 32, WARPS = 8, UNROLL = 4;

__device__ void add(float& to, float value) { to += value; }
__device__ void add(float4& to, float4 value) { to.x += value.x, to.y += value.y, to.z += value.z, to.w += value.w; }

// out[chunk][column] = sum over the rows of the chunk; `columns` and the pointers count in V.
template <typename V>
__global__ void __launch_bounds__(LANES* WARPS) sum_rows(V* __restrict__ out, const V* __restrict__ in, long long rows, int columns, long long chunk) {
    __shared__ V part[WARPS][LANES];
    const int column = blockIdx.x * LANES + threadIdx.x;
    const long long first = blockIdx.y * chunk, last = min(first + chunk, rows);
    V sum[UNROLL] = {};
    if (column < columns) {
        const V* x = in + column;
        long long row = first + threadIdx.y;
        for (; row + (UNROLL - 1) * WARPS < last; row += UNROLL * WARPS) {
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) add(sum[k], x[(row + k * WARPS) * columns]);
        }
        for (; row < last; row += WARPS) add(sum[0], x[row * columns]);
    }
#pragma unroll
    for (int k = 1; k < UNROLL; ++k) add(sum[0], sum[k]);
    part[threadIdx.y][threadIdx.x] = sum[0];
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
#pragma unroll
        for (int warp = 1; warp < WARPS; ++warp) add(sum[0], part[warp][threadIdx.x]);
        out[blockIdx.y * (long long)columns + column] = sum[0];
    }
}

template <typename V> void run(float* out, float* partial, const float* in, long long rows, int columns, long long chunks, cudaStream_t stream) {
    const dim3 block(LANES, WARPS);
    const unsigned tiles = (columns + LANES - 1) / LANES;
    const long long chunk = (rows + chunks - 1) / chunks;
    V* first = reinterpret_cast<V*>(chunks == 1 ? out : partial);
    sum_rows<V><<<dim3(tiles, chunks), block, 0, stream>>>(first, reinterpret_cast<const V*>(in), rows, columns, chunk);
    if (chunks > 1) sum_rows<V><<<dim3(tiles, 1), block, 0, stream>>>(reinterpret_cast<V*>(out), first, chunks, columns, chunks);
}

torch::Tensor column_sum(torch::Tensor x, int64_t multiprocessors) {
    const c10::cuda::CUDAGuard guard(x.device());
    const int64_t rows = x.size(0), cols = x.size(1);
    auto out = torch::empty({cols}, x.options());
    if (cols == 0) return out;
    TORCH_CHECK(cols < (1LL << 31) - LANES, "too many columns");
    const bool vectors = cols % 4 == 0 && reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0;
    const int64_t columns = vectors ? cols / 4 : cols, tiles = (columns + LANES - 1) / LANES;
    const int64_t wanted = (8 * multiprocessors + tiles - 1) / tiles;
    const int64_t chunks = std::max<int64_t>(1, std::min<int64_t>({wanted, (rows + 63) / 64, 65535}));
    auto partial = torch::empty({chunks > 1 ? chunks : 0, cols}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    auto launch = vectors ? run<float4> : run<float>;
    launch(out.data_ptr<float>(), partial.data_ptr<float>(), x.data_ptr<float>(), rows, columns, chunks, stream);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor column_sum(torch::Tensor x, int64_t multiprocessors);"
module = load_inline("kw_column_sum", cpp_sources=CPP, cuda_sources=CUDA, functions=["column_sum"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32 or x.dim() != 2:
            raise TypeError(f"this kernel is for float32 matrices, not {x.dtype} of {x.dim()} dimensions")
        return module.column_sum(x.contiguous(), torch.cuda.get_device_properties(x.device).multi_processor_count)
