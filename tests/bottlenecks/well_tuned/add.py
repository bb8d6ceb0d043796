# problem: add
# mechanism: sixteen bytes a thread and access, four of them in flight
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int THREADS = 256, EACH = 2;

__global__ void __launch_bounds__(THREADS) add(float4* __restrict__ out, const float4* __restrict__ x, const float4* __restrict__ y, int n) {
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
    float4 left[EACH], right[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int at = first + k * THREADS;
        if (at < n) left[k] = x[at], right[k] = y[at];
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int at = first + k * THREADS;
        const float4 a = left[k], b = right[k];
        if (at < n) out[at] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    TORCH_CHECK(x.numel() % 4 == 0, "whole quads only");
    auto out = torch::empty_like(x);
    const int n = x.numel() / 4;
    const auto quads = [](torch::Tensor& tensor) { return reinterpret_cast<float4*>(tensor.data_ptr<float>()); };
    const int blocks = (n + THREADS * EACH - 1) / (THREADS * EACH);
    add<<<blocks, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(quads(out), quads(x), quads(y), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor run(torch::Tensor x, torch::Tensor y);"
module = load_inline("quads_add", cpp_sources=CPP, cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return module.run(x, y)
