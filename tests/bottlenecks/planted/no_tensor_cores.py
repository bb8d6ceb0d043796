# problem: half_product
# first: no_tensor_cores
# mechanism: float16 operands are converted and multiplied by the single-precision units, 4 by 4 results in a thread
# why: the tensor cores do the same products more than ten times as fast
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_fp16.h>

constexpr int TILE = 64, DEPTH = 16, EACH = 4;

__global__ void __launch_bounds__(256) product(__half* __restrict__ out, const __half* __restrict__ a, const __half* __restrict__ b, int m, int n, int k) {
    __shared__ __align__(16) float a_tile[DEPTH][TILE + 4], b_tile[DEPTH][TILE + 4];
    const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    const int row = threadIdx.x / 16 * EACH, column = threadIdx.x % 16 * EACH;
    float sums[EACH][EACH] = {};
    for (int start = 0; start < k; start += DEPTH) {
#pragma unroll
        for (int i = threadIdx.x; i < TILE * DEPTH / 4; i += 256) {
            const __half2* from = reinterpret_cast<const __half2*>(a + (long long)(first_row + i / 4) * k + start + i % 4 * 4);
            const float2 low = __half22float2(from[0]), high = __half22float2(from[1]);
            a_tile[i % 4 * 4][i / 4] = low.x;
            a_tile[i % 4 * 4 + 1][i / 4] = low.y;
            a_tile[i % 4 * 4 + 2][i / 4] = high.x;
            a_tile[i % 4 * 4 + 3][i / 4] = high.y;
        }
#pragma unroll
        for (int i = threadIdx.x; i < TILE * DEPTH / 4; i += 256) {
            const __half2* from = reinterpret_cast<const __half2*>(b + (long long)(start + i / 16) * n + first_column + i % 16 * 4);
            const float2 low = __half22float2(from[0]), high = __half22float2(from[1]);
            *reinterpret_cast<float4*>(&b_tile[i / 16][i % 16 * 4]) = make_float4(low.x, low.y, high.x, high.y);
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const float4 left = *reinterpret_cast<float4*>(&a_tile[d][row]), right = *reinterpret_cast<float4*>(&b_tile[d][column]);
            const float rows[EACH] = {left.x, left.y, left.z, left.w}, columns[EACH] = {right.x, right.y, right.z, right.w};
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) sums[i][j] += rows[i] * columns[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        __half2* to = reinterpret_cast<__half2*>(out + (long long)(first_row + row + i) * n + first_column + column);
        to[0] = __floats2half2_rn(sums[i][0], sums[i][1]);
        to[1] = __floats2half2_rn(sums[i][2], sums[i][3]);
    }
}

torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    TORCH_CHECK(m % TILE == 0 && n % TILE == 0 && k % DEPTH == 0, "whole tiles only");
    auto out = torch::empty({m, n}, a.options());
    const auto pointer = [](torch::Tensor& tensor) { return reinterpret_cast<__half*>(tensor.data_ptr<at::Half>()); };
    product<<<dim3(n / TILE, m / TILE), 256, 0, at::cuda::getCurrentCUDAStream()>>>(pointer(out), pointer(a), pointer(b), m, n, k);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

CPP = "torch::Tensor run(torch::Tensor a, torch::Tensor b);"
module = load_inline("general_product", cpp_sources=CPP, cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return module.run(a, b)
