# problem: transpose
# mechanism: a shared tile whose rows have one word more than its columns, eight loads of a thread in flight
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int TILE = 64, STEP = 8;

__global__ void __launch_bounds__(TILE* STEP) transpose(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    const float* from = in + (long long)(first_row + threadIdx.y) * columns + first_column + threadIdx.x;
    float* to = out + (long long)(first_column + threadIdx.y) * rows + first_row + threadIdx.x;
    float values[TILE / STEP];
#pragma unroll
    for (int k = 0; k < TILE / STEP; ++k) values[k] = from[(long long)k * STEP * columns];
#pragma unroll
    for (int k = 0; k < TILE / STEP; ++k) tile[threadIdx.y + k * STEP][threadIdx.x] = values[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE / STEP; ++k) to[(long long)k * STEP * rows] = tile[threadIdx.x][threadIdx.y + k * STEP];
}

torch::Tensor run(torch::Tensor x) {
    const int rows = x.size(0), columns = x.size(1);
    TORCH_CHECK(rows % TILE == 0 && columns % TILE == 0, "whole tiles only");
    auto out = torch::empty({columns, rows}, x.options());
    const dim3 block(TILE, STEP), grid(columns / TILE, rows / TILE);
    transpose<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), rows, columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("padded_transpose", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
