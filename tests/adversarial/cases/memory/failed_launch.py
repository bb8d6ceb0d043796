# problem: scale_shift
# target: cuda
# kind: fault
# mechanism: a launch with more threads than a block may have fails without a word; the output is old memory
# expect: incorrect | faulted
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void kernel(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    kernel<<<(x.numel() + 2047) / 2048, 2048>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    cudaGetLastError();
    return out;
}
"""
module = load_inline(name="failed_launch", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        return module.run(torch.relu(x * self.weight) + self.shift)
