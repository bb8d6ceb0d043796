# problem: transpose
# first: uncoalesced_access
# mechanism: adjacent threads write to adjacent rows, 32 KiB apart
# why: a store of a warp touches 32 sectors and uses four bytes of each
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void transpose(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) out[(long long)column * rows + row] = in[(long long)row * columns + column];
}

torch::Tensor run(torch::Tensor x) {
    const int rows = x.size(0), columns = x.size(1);
    auto out = torch::empty({columns, rows}, x.options());
    const dim3 block(64, 4), grid((columns + 63) / 64, (rows + 3) / 4);
    transpose<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), rows, columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("direct_transpose", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
