# problem: softmax
# target: cuda
# kind: fault
# mechanism: a reduction in shared memory without the barrier it needs
# expect: incorrect
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void kernel(const float* x, float* out, int n) {
    __shared__ volatile float part[256];
    const float* row = x + (long)blockIdx.x * n;
    float top = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 256) top = fmaxf(top, row[i]);
    part[threadIdx.x] = top;
    for (int s = 128; s > 0; s >>= 1) { if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]); }
    top = part[0];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += expf(row[i] - top);
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) { if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s]; }
    for (int i = threadIdx.x; i < n; i += 256) out[(long)blockIdx.x * n + i] = expf(row[i] - top) / part[0];
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""
module = load_inline(name="missing_barrier", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
