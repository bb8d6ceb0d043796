# problem: scale_shift
# target: cuda
# kind: honest
# mechanism: a kernel on a stream of its own of the kind that the default stream waits for without being told
# timed: yes
# expect: correct
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void kernel(const float* x, const float* weight, const float* shift, float* out, int n) {
    long i = (long)blockIdx.x * n + threadIdx.x;
    for (int j = threadIdx.x; j < n; j += 256, i += 256) {
        float scaled = x[i] * weight[j];
        out[i] = (scaled < 0 ? 0 : scaled) + shift[j];
    }
}
torch::Tensor run(torch::Tensor x, torch::Tensor weight, torch::Tensor shift) {
    static cudaStream_t stream = nullptr;
    if (!stream) cudaStreamCreate(&stream);
    auto out = torch::empty_like(x);
    kernel<<<x.size(0), 256, 0, stream>>>(x.data_ptr<float>(), weight.data_ptr<float>(), shift.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""
DECLARED = "torch::Tensor run(torch::Tensor x, torch::Tensor weight, torch::Tensor shift);"
module = load_inline(name="blocking_stream", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        return module.run(x.contiguous(), self.weight, self.shift)
