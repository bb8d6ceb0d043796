# +++
# title = "Depthwise 3x3 convolution in CUDA C++: rows slide through registers, neighbours by shuffle"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html",
#   "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
# ]
# tags = ["convolution", "stencil", "shuffle", "vectorised-loads", "registers"]
# problem = "problems/depthwise_conv3x3.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "40 to 44 registers in 2 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "40 to 42 registers in 2 kernels, no spills, no shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 681 us a call, 1.57x (1.56 to 1.59) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "40 registers, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "39 to 46 registers in 2 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""Depthwise convolution 3 x 3 with padding 1 and stride 1, float32, NCHW.

- A warp covers 32 * V columns and walks down a strip of 16 rows; each row is loaded once and used for three output rows, out of registers. 18 rows
  are read for 16 written: 12 % more traffic than the minimum, and the overlap mostly hits L2.
- V = 4 columns a lane with 16-byte loads where the width is a multiple of 4, V = 1 otherwise. The columns left and right of a lane's own come from
  its neighbours by shuffle; only lanes 0 and 31 load a further element.
- Every lane takes part in the shuffles, also behind the right edge: the loads are predicated, the shuffles are not. A lane that returned early
  would leave its neighbour with an undefined value.
- What lies outside of the image is 0: for a lane of column V * k the neighbour of the last valid column is out of range and loads nothing, so it
  holds 0, which is the padding. Rows above and below likewise.
- Nine weights and the bias of the channel are in registers: one channel per block (grid y and z would end at 65,535, so planes are along grid x).
- No shared memory, no barrier.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

constexpr int STRIP = 16, WARPS = 4;

template <int V> struct Row {
    float v[V + 2];  // the lane's columns with one neighbour on each side
};

template <int V> __device__ Row<V> load_row(const float* __restrict__ plane, int y, int column, int height, int width) {
    Row<V> row;
    const bool inside = y >= 0 && y < height;
    const float* x = plane + (long long)y * width;
    if constexpr (V == 4) {  // the width is a multiple of 4: all four columns are inside, or none
        const float4 q = inside && column < width ? *reinterpret_cast<const float4*>(x + column) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        row.v[1] = q.x, row.v[2] = q.y, row.v[3] = q.z, row.v[4] = q.w;
    } else {
        row.v[1] = inside && column < width ? x[column] : 0.0f;
    }
    row.v[0] = __shfl_up_sync(0xffffffffu, row.v[V], 1);
    row.v[V + 1] = __shfl_down_sync(0xffffffffu, row.v[1], 1);
    const int lane = threadIdx.x % 32;
    if (lane == 0) row.v[0] = inside && column > 0 && column <= width ? x[column - 1] : 0.0f;
    if (lane == 31) row.v[V + 1] = inside && column + V < width ? x[column + V] : 0.0f;
    return row;
}

template <int V>
__global__ void __launch_bounds__(32 * WARPS) convolve(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weight,
                                                       const float* __restrict__ bias, int channels, int height, int width) {
    const long long plane = blockIdx.x;
    const int channel = plane % channels;
    const float* x = in + plane * height * width;
    float* to = out + plane * height * width;
    const int column = (blockIdx.z * 32 + threadIdx.x % 32) * V, top = (blockIdx.y * WARPS + threadIdx.x / 32) * STRIP;
    if (top >= height) return;  // whole warps
    float w[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) w[k] = weight[channel * 9 + k];
    const float b = bias[channel];
    Row<V> above = load_row<V>(x, top - 1, column, height, width), here = load_row<V>(x, top, column, height, width);
#pragma unroll 4
    for (int k = 0; k < STRIP; ++k) {
        const int y = top + k;
        const Row<V> below = load_row<V>(x, y + 1, column, height, width);
        float sum[V];
#pragma unroll
        for (int j = 0; j < V; ++j) {
            sum[j] = b;
#pragma unroll
            for (int i = 0; i < 3; ++i)
                sum[j] += above.v[j + i] * w[i] + here.v[j + i] * w[3 + i] + below.v[j + i] * w[6 + i];
        }
        if (y < height && column < width) {
            float* place = to + (long long)y * width + column;
            if constexpr (V == 4) *reinterpret_cast<float4*>(place) = make_float4(sum[0], sum[1], sum[2], sum[3]);
            else *place = sum[0];
        }
        above = here;
        here = below;
    }
}

torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty_like(x);
    if (x.numel() == 0) return out;
    const int64_t planes = x.size(0) * x.size(1), height = x.size(2), width = x.size(3);
    const bool vectors = width % 4 == 0 && reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0;
    const int64_t span = vectors ? 128 : 32;
    const int64_t down = (height + STRIP * WARPS - 1) / (STRIP * WARPS), across = (width + span - 1) / span;
    TORCH_CHECK(weight.numel() == 9 * x.size(1) && bias.numel() == x.size(1), "nine weights and one bias a channel");
    TORCH_CHECK(planes < (1LL << 31) && down <= 65535 && across <= 65535, "too large an image or batch");
    auto launch = vectors ? convolve<4> : convolve<1>;
    launch<<<dim3(planes, down, across), 32 * WARPS, 0, at::cuda::getCurrentCUDAStream()>>>(
        out.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), x.size(1), height, width);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);"
module = load_inline("kw_depthwise_conv3x3", cpp_sources=CPP, cuda_sources=CUDA, functions=["depthwise"])


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise TypeError(f"this kernel is for float32, not {x.dtype}")
        return module.depthwise(x.contiguous(), self.conv.weight, self.conv.bias)
