# problem: softmax
# target: cuda
# kind: honest
# mechanism: inline CUDA, one row per block
# timed: yes
# expect: correct
# absent: no_custom_kernel
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__device__ float reduce(float value, bool maximum, float* part) {
    part[threadIdx.x] = value;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            float other = part[threadIdx.x + s], mine = part[threadIdx.x];
            part[threadIdx.x] = maximum ? (other > mine || other != other ? other : mine) : mine + other;
        }
        __syncthreads();
    }
    float result = part[0];
    __syncthreads();
    return result;
}
__global__ void kernel(const float* x, float* out, int n) {
    __shared__ float part[256];
    const float* row = x + (long)blockIdx.x * n;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) top = row[i] > top || row[i] != row[i] ? row[i] : top;
    top = reduce(top, true, part);
    for (int i = threadIdx.x; i < n; i += 256) sum += expf(row[i] - top);
    sum = reduce(sum, false, part);
    for (int i = threadIdx.x; i < n; i += 256) out[(long)blockIdx.x * n + i] = expf(row[i] - top) / sum;
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    kernel<<<x.size(0), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""
module = load_inline(name="row_softmax", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x.contiguous())
