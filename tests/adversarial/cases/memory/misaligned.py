# problem: softmax
# target: cuda
# kind: fault
# mechanism: a vector load from an address that is not aligned for it
# expect: faulted
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void kernel(const float* x, float* out) {
    float4 v = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    kernel<<<1, 32>>>(x.data_ptr<float>(), out.data_ptr<float>());
    return out;
}
"""
module = load_inline(name="misaligned", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
