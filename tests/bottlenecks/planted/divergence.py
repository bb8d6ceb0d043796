# problem: iterated_map
# first: divergence
# mechanism: one element in sixteen asks for sixteen times as many iterations as the others
# why: most warps hold such an element, and their other threads wait for it
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void iterate(float* __restrict__ out, const float* __restrict__ in, const int* __restrict__ counts, int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    float x = in[at];
    for (int step = counts[at]; step > 0; --step) x = 3.25f * x * (1.0f - x);
    out[at] = x;
}

torch::Tensor run(torch::Tensor x, torch::Tensor counts) {
    auto out = torch::empty_like(x);
    const int n = x.numel();
    iterate<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), counts.data_ptr<int>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor run(torch::Tensor x, torch::Tensor counts);"
module = load_inline("uneven_map", cpp_sources=CPP, cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, counts):
        return module.run(x, counts)
