# problem: odd_number
# target: cuda
# kind: fault
# mechanism: vectors of four elements, the last of which reads and writes one beyond the end
# expect: faulted
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void kernel(const float4* x, const float4* y, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 a = x[i], b = y[i];
    a.x += 0.5f * a.x * b.x, a.y += 0.5f * a.y * b.y, a.z += 0.5f * a.z * b.z, a.w += 0.5f * a.w * b.w;
    out[i] = a;
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = (x.numel() + 3) / 4;
    auto stream = at::cuda::getCurrentCUDAStream();
    kernel<<<(n + 255) / 256, 256, 0, stream>>>((float4*)x.data_ptr<float>(), (float4*)y.data_ptr<float>(), (float4*)out.data_ptr<float>(), n);
    return out;
}
"""
module = load_inline(name="whole_vectors", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor y);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return module.run(x, y)
