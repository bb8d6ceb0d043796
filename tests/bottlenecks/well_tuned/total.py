# problem: large_total
# mechanism: eight blocks for each multiprocessor add up their parts, one small block adds up the blocks
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int THREADS = 256, EACH = 4;

__device__ float over_block(float value) {
    __shared__ float part[THREADS / 32];
    for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[threadIdx.x % (THREADS / 32)];
    for (int lane = THREADS / 64; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
    return value;
}

__global__ void __launch_bounds__(THREADS) parts(float* __restrict__ out, const float4* __restrict__ in, int n) {
    const int stride = gridDim.x * THREADS;
    float sums[EACH] = {};
    int at = blockIdx.x * THREADS + threadIdx.x;
    for (; at + (EACH - 1) * stride < n; at += EACH * stride) {
        float4 quads[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) quads[k] = in[at + k * stride];
#pragma unroll
        for (int k = 0; k < EACH; ++k) sums[k] += (quads[k].x + quads[k].y) + (quads[k].z + quads[k].w);
    }
    for (; at < n; at += stride) sums[0] += (in[at].x + in[at].y) + (in[at].z + in[at].w);
    const float sum = over_block((sums[0] + sums[1]) + (sums[2] + sums[3]));
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) whole(float* __restrict__ out, const float* __restrict__ in, int n) {
    float sum = 0.0f;
    for (int at = threadIdx.x; at < n; at += THREADS) sum += in[at];
    sum = over_block(sum);
    if (threadIdx.x == 0) *out = sum;
}

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.numel() % 4 == 0, "whole quads only");
    const int blocks = at::cuda::getCurrentDeviceProperties()->multiProcessorCount * 8;
    auto sums = torch::empty({blocks}, x.options()), out = torch::empty({}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    parts<<<blocks, THREADS, 0, stream>>>(sums.data_ptr<float>(), reinterpret_cast<float4*>(x.data_ptr<float>()), x.numel() / 4);
    whole<<<1, THREADS, 0, stream>>>(out.data_ptr<float>(), sums.data_ptr<float>(), blocks);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("two_stage_total", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
