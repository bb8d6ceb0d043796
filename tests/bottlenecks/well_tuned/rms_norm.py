# problem: rms_norm
# mechanism: a row stays in the registers of 256 threads between its sum and its output
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int THREADS = 256, EACH = 4;

__global__ void __launch_bounds__(THREADS) norm(float4* __restrict__ out, const float4* __restrict__ in, const float4* __restrict__ weight) {
    __shared__ float part[THREADS / 32];
    const long long start = blockIdx.x * (long long)(THREADS * EACH);
    float4 v[EACH];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < EACH; ++k) v[k] = in[start + threadIdx.x + k * THREADS];
#pragma unroll
    for (int k = 0; k < EACH; ++k) sum += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = part[threadIdx.x % (THREADS / 32)];
    for (int lane = THREADS / 64; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    const float scale = rsqrtf(sum / (THREADS * EACH * 4) + 1e-6f);
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int at = threadIdx.x + k * THREADS;
        const float4 w = weight[at];
        out[start + at] = make_float4(v[k].x * scale * w.x, v[k].y * scale * w.y, v[k].z * scale * w.z, v[k].w * scale * w.w);
    }
}

torch::Tensor run(torch::Tensor x, torch::Tensor weight) {
    TORCH_CHECK(x.size(1) == THREADS * EACH * 4, "rows of 4096 only");
    auto out = torch::empty_like(x);
    const auto quads = [](torch::Tensor& tensor) { return reinterpret_cast<float4*>(tensor.data_ptr<float>()); };
    norm<<<x.size(0), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(quads(out), quads(x), quads(weight));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor run(torch::Tensor x, torch::Tensor weight);"
module = load_inline("register_norm", cpp_sources=CPP, cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, weight):
        return module.run(x, weight)
