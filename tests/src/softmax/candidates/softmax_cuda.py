import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cfloat>

template <bool MAXIMUM> __device__ float over_block(float value, float* shared) {
    for (int offset = 16; offset; offset /= 2) {
        float other = __shfl_xor_sync(~0u, value, offset);
        value = MAXIMUM ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[threadIdx.x % 32];
    for (int offset = 16; offset; offset /= 2) {
        float other = __shfl_xor_sync(~0u, value, offset);
        value = MAXIMUM ? fmaxf(value, other) : value + other;
    }
    return value;
}

__global__ __launch_bounds__(1024) void softmax_rows(float4* y, const float4* x, int quads) {
    __shared__ float shared[32];
    const float4* row = x + (size_t)blockIdx.x * quads;
    float4* out = y + (size_t)blockIdx.x * quads;
    float top = -FLT_MAX;
    for (int i = threadIdx.x; i < quads; i += 1024) {
        float4 v = row[i];
        top = fmaxf(top, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    top = over_block<true>(top, shared);
    float sum = 0.f * VARIANT;
    for (int i = threadIdx.x; i < quads; i += 1024) {
        float4 v = row[i];
        sum += (__expf(v.x - top) + __expf(v.y - top)) + (__expf(v.z - top) + __expf(v.w - top));
    }
    float scale = 1.f / over_block<false>(sum, shared);
    for (int i = threadIdx.x; i < quads; i += 1024) {
        float4 v = row[i];
        out[i] = make_float4(__expf(v.x - top) * scale, __expf(v.y - top) * scale, __expf(v.z - top) * scale, __expf(v.w - top) * scale);
    }
}

torch::Tensor FUNCTION(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_rows<<<x.size(0), 1024>>>((float4*)y.data_ptr<float>(), (const float4*)x.data_ptr<float>(), x.size(1) / 4);
    return y;
}
"""

module = load_inline("softmax_rows", cpp_sources="torch::Tensor FUNCTION(torch::Tensor x);", cuda_sources=CUDA, functions=["FUNCTION"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.FUNCTION(x.contiguous())
