# problem: transpose
# first: bank_conflicts
# mechanism: a shared tile with rows of 32 words is read along its columns
# why: all 32 words of a column lie in one bank, so that a read takes 32 turns
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int TILE = 32, STEP = 8;

__global__ void transpose(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
#pragma unroll
    for (int k = threadIdx.y; k < TILE; k += STEP) {
        const int row = first_row + k, column = first_column + threadIdx.x;
        if (row < rows && column < columns) tile[k][threadIdx.x] = in[(long long)row * columns + column];
    }
    __syncthreads();
#pragma unroll
    for (int k = threadIdx.y; k < TILE; k += STEP) {
        const int row = first_row + threadIdx.x, column = first_column + k;
        if (row < rows && column < columns) out[(long long)column * rows + row] = tile[threadIdx.x][k];
    }
}

torch::Tensor run(torch::Tensor x) {
    const int rows = x.size(0), columns = x.size(1);
    auto out = torch::empty({columns, rows}, x.options());
    const dim3 block(TILE, STEP), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), rows, columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("unpadded_transpose", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
