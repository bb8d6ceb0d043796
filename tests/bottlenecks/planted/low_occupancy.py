# problem: long_softmax
# first: low_occupancy
# says: shared memory
# mechanism: a block of 128 threads keeps a row of 192 KiB in shared memory
# why: one block fits a multiprocessor, and its four warps have too few loads in flight
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int THREADS = 128;

template <bool MAXIMUM> __device__ float over_block(float value, float* part) {
    for (int lane = 16; lane > 0; lane /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, lane);
        value = MAXIMUM ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[0];
    for (int warp = 1; warp < THREADS / 32; ++warp) value = MAXIMUM ? fmaxf(value, part[warp]) : value + part[warp];
    return value;
}

__global__ void __launch_bounds__(THREADS) softmax(float* __restrict__ out, const float* __restrict__ in, int columns) {
    extern __shared__ float row[];
    __shared__ float part[THREADS / 32];
    const long long start = blockIdx.x * (long long)columns;
    float top = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        row[i] = in[start + i];
        top = fmaxf(top, row[i]);
    }
    top = over_block<true>(top, part);
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        row[i] = __expf(row[i] - top);
        sum += row[i];
    }
    const float scale = 1.0f / over_block<false>(sum, part);
    for (int i = threadIdx.x; i < columns; i += THREADS) out[start + i] = row[i] * scale;
}

torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1), bytes = columns * sizeof(float);
    C10_CUDA_CHECK(cudaFuncSetAttribute(softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    softmax<<<rows, THREADS, bytes, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("resident_softmax", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
