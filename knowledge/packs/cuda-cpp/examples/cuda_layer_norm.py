# +++
# title = "Layer norm in CUDA C++: one warp per row, variance around the mean, no barrier"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html",
#   "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html",
# ]
# tags = ["layernorm", "reduction", "shuffle", "vectorised-loads"]
# problem = "problems/layer_norm.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "32 to 168 registers in 5 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "32 to 168 registers in 5 kernels, no spills, no shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 299 us a call, 0.82x (0.79 to 0.96) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "31 to 241 registers in 5 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "35 to 251 registers in 5 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""Layer norm over the last dimension with weight and bias, float32, up to 4,096 features in registers, more in two sweeps.

- One warp owns one row, so both sums are five shuffles each and there is no `__syncthreads()`; 8 warps a block share nothing but the launch.
- At most 32 quads a lane (4,096 features) stay in registers between mean, variance and output. That takes 168 registers, so that an SM holds one
  block of 8 warps; it needs no more, because every warp has 32 independent 16-byte loads a lane in flight, 128 KB for the SM.
- Two steps, mean then squared distances: E[x^2] - mean^2 loses its digits when the mean is large against the deviation.
- Lanes behind the end of the row hold zeros; they must not enter the variance as (0 - mean)^2, hence the test in the second loop.
- Weight and bias are read by every warp, out of L1 and L2.
- The number of quads a lane holds is a template argument; a longer row, one that is no multiple of 4 or an unaligned one takes the scalar kernel,
  which reads the row three times, twice from cache.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

constexpr int WARPS = 8;

__device__ float over_warp(float value) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) value += __shfl_xor_sync(0xffffffffu, value, lane);
    return value;
}

template <int QUADS>
__global__ void __launch_bounds__(32 * WARPS) norm_registers(float4* __restrict__ out, const float4* __restrict__ in, const float4* __restrict__ weight,
                                                             const float4* __restrict__ bias, long long rows, int quads, float eps) {
    const long long row = blockIdx.x * (long long)WARPS + threadIdx.x / 32;
    if (row >= rows) return;  // whole warps: the shuffles below stay complete
    const int lane = threadIdx.x % 32;
    const float count = 4.0f * quads;
    float4 v[QUADS];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int i = lane + 32 * k;
        v[k] = i < quads ? in[row * quads + i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    const float mean = over_warp(sum) / count;
    float square = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        v[k] = make_float4(v[k].x - mean, v[k].y - mean, v[k].z - mean, v[k].w - mean);
        if (lane + 32 * k < quads) square += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
    }
    const float scale = rsqrtf(over_warp(square) / count + eps);
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int i = lane + 32 * k;
        if (i >= quads) continue;
        const float4 w = weight[i], b = bias[i];
        out[row * quads + i] = make_float4(v[k].x * scale * w.x + b.x, v[k].y * scale * w.y + b.y, v[k].z * scale * w.z + b.z, v[k].w * scale * w.w + b.w);
    }
}

__global__ void __launch_bounds__(32 * WARPS) norm_any(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weight,
                                                       const float* __restrict__ bias, long long rows, int cols, float eps) {
    const long long row = blockIdx.x * (long long)WARPS + threadIdx.x / 32;
    if (row >= rows) return;
    const int lane = threadIdx.x % 32;
    const float* x = in + row * cols;
    float sum = 0.0f, square = 0.0f;
    for (int i = lane; i < cols; i += 32) sum += x[i];
    const float mean = over_warp(sum) / cols;
    for (int i = lane; i < cols; i += 32) square += (x[i] - mean) * (x[i] - mean);
    const float scale = rsqrtf(over_warp(square) / cols + eps);
    for (int i = lane; i < cols; i += 32) out[row * cols + i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty_like(x);
    const int64_t cols = x.size(-1), rows = cols ? x.numel() / cols : 0;
    TORCH_CHECK(rows < (1LL << 31) && cols < (1LL << 31) - 32, "too many rows or columns");
    TORCH_CHECK(weight.numel() >= cols && bias.numel() >= cols, "weight and bias must cover a row");
    if (rows == 0) return out;
    float* to = out.data_ptr<float>();
    const float *from = x.data_ptr<float>(), *w = weight.data_ptr<float>(), *b = bias.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    const unsigned blocks = (rows + WARPS - 1) / WARPS;
    const int quads = cols / 4;
    const uintptr_t places = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(w) | reinterpret_cast<uintptr_t>(b);
    const bool vectors = cols % 4 == 0 && places % 16 == 0 && cols <= 4096;
#define LAUNCH(QUADS)                                                                                                                          \
    norm_registers<QUADS><<<blocks, 32 * WARPS, 0, stream>>>(reinterpret_cast<float4*>(to), reinterpret_cast<const float4*>(from),             \
                                                             reinterpret_cast<const float4*>(w), reinterpret_cast<const float4*>(b), rows,     \
                                                             quads, float(eps))
    if (!vectors) norm_any<<<blocks, 32 * WARPS, 0, stream>>>(to, from, w, b, rows, cols, float(eps));
    else if (quads <= 32 * 2) LAUNCH(2);
    else if (quads <= 32 * 8) LAUNCH(8);
    else if (quads <= 32 * 16) LAUNCH(16);
    else LAUNCH(32);
#undef LAUNCH
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline(
    "kw_layer_norm",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);",
    cuda_sources=CUDA,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features) * 0.1 + 1.0)
        self.bias = nn.Parameter(torch.randn(features) * 0.1)
        self.eps = 1e-5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        return module.layer_norm(x.contiguous(), self.weight, self.bias, self.eps)
