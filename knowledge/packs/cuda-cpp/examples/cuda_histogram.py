# +++
# title = "Histogram in CUDA C++: one shared memory copy per warp, then one global atomic per bin and block"
# bottleneck = "synchronization"
# phase = "write"
# sources = [
#   "https://developer.nvidia.com/blog/gpu-pro-tip-fast-histograms-using-shared-atomics-maxwell/",
#   "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
# ]
# tags = ["histogram", "atomics", "shared-memory", "vectorised-loads"]
# problem = "problems/histogram.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "32 registers, no spills, 8,192 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "36 registers, no spills, 8,192 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 111 us a call, 4.98x (4.89 to 5.15) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "40 registers, no spills, 8,192 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "44 registers, no spills, 8,192 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""Counts of int64 values in [0, bins), up to 256 bins; values outside are not counted.

- Atomics on shared memory instead of global memory: 32 lanes that hit 32 different bins go through in a pass, lanes that hit the same bin are
  served one after the other. With a copy per warp, warps do not wait for each other; the lanes of a warp still do, which is what remains for skewed
  data (all values equal: 32 passes).
- 8 warps x 256 bins x 4 bytes = 8 KB a block.
- Counters are 32 bits in shared memory: a block sees fewer than 2^32 values. The global ones are 64 bits: `unsigned long long`, the type that
  `atomicAdd` has, of the same size as int64.
- The output is zeroed by `torch::zeros` on the current stream in every call; leaving that out doubles the counts from the second call on.
- Two values a load (16 bytes), four loads in flight; the last odd value by one thread. Integer sums do not depend on the order: the result is exact and
  reproducible.
- torch.bincount synchronises with the host to learn the largest value, this kernel does not.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

constexpr int WARPS = 8, BINS = 256, UNROLL = 4;

__device__ void count(unsigned* own, long long value, int bins) {
    if (value >= 0 && value < bins) atomicAdd(own + value, 1u);
}

__global__ void __launch_bounds__(32 * WARPS) histogram(unsigned long long* __restrict__ out, const long long* __restrict__ in, long long n, int bins,
                                                        bool pairs) {
    __shared__ unsigned counts[WARPS][BINS];
    for (int i = threadIdx.x; i < WARPS * BINS; i += 32 * WARPS) counts[i / BINS][i % BINS] = 0;
    __syncthreads();
    unsigned* own = counts[threadIdx.x / 32];
    const long long step = gridDim.x * (long long)blockDim.x;
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pairs) {
        const longlong2* in2 = reinterpret_cast<const longlong2*>(in);
        const long long n2 = n / 2;
        if (i == 0 && n % 2) count(own, in[n - 1], bins);
        for (; i + (UNROLL - 1) * step < n2; i += UNROLL * step) {
            longlong2 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) v[k] = in2[i + k * step];
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) count(own, v[k].x, bins), count(own, v[k].y, bins);
        }
        for (; i < n2; i += step) {
            const longlong2 v = in2[i];
            count(own, v.x, bins), count(own, v.y, bins);
        }
    } else {
        for (; i < n; i += step) count(own, in[i], bins);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += 32 * WARPS) {
        unsigned sum = 0;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) sum += counts[warp][bin];
        if (sum) atomicAdd(out + bin, (unsigned long long)sum);
    }
}

torch::Tensor histogram_of(torch::Tensor x, int64_t bins, int64_t multiprocessors) {
    const c10::cuda::CUDAGuard guard(x.device());
    TORCH_CHECK(bins > 0 && bins <= BINS, "1 to 256 bins");
    auto out = torch::zeros({bins}, x.options());
    const int64_t n = x.numel();
    if (n == 0) return out;
    const int64_t blocks = std::max<int64_t>(1, std::min<int64_t>(multiprocessors * 8, n / (2 * UNROLL * 32 * WARPS)));
    const bool pairs = reinterpret_cast<uintptr_t>(x.data_ptr<int64_t>()) % 16 == 0;
    histogram<<<blocks, 32 * WARPS, 0, at::cuda::getCurrentCUDAStream()>>>(reinterpret_cast<unsigned long long*>(out.data_ptr<int64_t>()),
                                                                          reinterpret_cast<const long long*>(x.data_ptr<int64_t>()), n, bins, pairs);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor histogram_of(torch::Tensor x, int64_t bins, int64_t multiprocessors);"
module = load_inline("kw_histogram", cpp_sources=CPP, cuda_sources=CUDA, functions=["histogram_of"])


class ModelNew(nn.Module):
    def __init__(self, bins: int):
        super().__init__()
        self.bins = bins

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.int64:
            raise TypeError(f"this kernel is for int64, not {x.dtype}")
        return module.histogram_of(x.contiguous(), self.bins, torch.cuda.get_device_properties(x.device).multi_processor_count)
