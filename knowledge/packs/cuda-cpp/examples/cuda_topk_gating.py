# +++
# title = "Top-k and softmax for expert routing in CUDA C++: k rounds of argmax by shuffles, one warp per token"
# bottleneck = "latency"
# phase = "write"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.topk.html",
#   "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
# ]
# tags = ["topk", "argmax", "shuffle", "reduction", "index"]
# problem = "problems/topk_gating.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "24 to 32 registers in 4 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "25 to 32 registers in 4 kernels, no spills, no shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 112 us a call, 4.54x (4.42 to 4.58) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "21 to 48 registers in 4 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "23 to 48 registers in 4 kernels, no spills, no shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""The k largest of each row in descending order (k <= 32), their indices, and the softmax over them; float32, up to 512 columns.

- One warp per row, the row in registers (2, 4, 8 or 16 values a lane): read once, no shared memory, no sorting of what is not wanted.
- A round is a warp-wide argmax: value and index travel together through five shuffles. The winner is struck out by its lane in a bit mask, not by
  overwriting it with -inf, which a row may contain itself.
- Ties go to the lower index, in every comparison, so that all lanes agree on the winner; torch.topk promises no order among equal values.
- Lane j keeps the result of round j: the softmax over the k values is one more pair of warp reductions, and the outputs are written side by side.
- Places behind the end of the row have index INT_MAX and lose against every real place, also against -inf.
- Comparisons with NaN are false: a NaN is never chosen here, while torch treats it as the largest value. Such rows differ.
- Cost: k * (values a lane + 10) instructions a row; for k above 32 or thousands of columns sort or select by radix instead.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <climits>

constexpr int WARPS = 8;

template <int EACH>
__global__ void __launch_bounds__(32 * WARPS) gate(float* __restrict__ weights, long long* __restrict__ indices, const float* __restrict__ logits,
                                                   long long rows, int cols, int k) {
    const long long row = blockIdx.x * (long long)WARPS + threadIdx.x / 32;
    if (row >= rows) return;  // whole warps
    const int lane = threadIdx.x % 32;
    float v[EACH];
    unsigned free = 0;  // bit j: value j is there and has not been chosen
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const int column = lane + 32 * j;
        v[j] = column < cols ? logits[row * cols + column] : 0.0f;
        free |= unsigned(column < cols) << j;
    }
    float kept = -INFINITY, highest = 0.0f;
    int kept_index = 0;
    for (int round = 0; round < k; ++round) {
        float best = -INFINITY;
        int index = INT_MAX;
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            // Columns of a lane ascend: only a larger value wins, or the first one that is there.
            if ((free >> j & 1) && (v[j] > best || (index == INT_MAX && v[j] == best))) best = v[j], index = lane + 32 * j;
        }
#pragma unroll
        for (int distance = 16; distance > 0; distance >>= 1) {
            const float value = __shfl_xor_sync(0xffffffffu, best, distance);
            const int at = __shfl_xor_sync(0xffffffffu, index, distance);
            if (value > best || (value == best && at < index)) best = value, index = at;
        }
        if (index % 32 == lane && index != INT_MAX) free &= ~(1u << (index / 32));
        if (round == 0) highest = best;
        if (round == lane) kept = best, kept_index = index;
    }
    const float e = lane < k ? expf(kept - highest) : 0.0f;
    float sum = e;
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane < k) {
        weights[row * k + lane] = e / sum;
        indices[row * k + lane] = kept_index;
    }
}

void topk_gating(torch::Tensor weights, torch::Tensor indices, torch::Tensor logits, int64_t k) {
    const c10::cuda::CUDAGuard guard(logits.device());
    const int64_t rows = logits.size(0), cols = logits.size(1);
    TORCH_CHECK(k > 0 && k <= 32 && k <= cols && cols <= 512, "1 to 32 out of at most 512 columns");
    TORCH_CHECK(rows < (1LL << 31), "too many rows");
    if (rows == 0) return;
    auto launch = cols <= 64 ? gate<2> : cols <= 128 ? gate<4> : cols <= 256 ? gate<8> : gate<16>;
    launch<<<(rows + WARPS - 1) / WARPS, 32 * WARPS, 0, at::cuda::getCurrentCUDAStream()>>>(
        weights.data_ptr<float>(), reinterpret_cast<long long*>(indices.data_ptr<int64_t>()), logits.data_ptr<float>(), rows, cols, k);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

CPP = "void topk_gating(torch::Tensor weights, torch::Tensor indices, torch::Tensor logits, int64_t k);"
module = load_inline("kw_topk_gating", cpp_sources=CPP, cuda_sources=CUDA, functions=["topk_gating"])


class ModelNew(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, logits: torch.Tensor):
        if logits.dtype != torch.float32 or logits.dim() != 2:
            raise TypeError(f"this kernel is for float32 matrices, not {logits.dtype} of {logits.dim()} dimensions")
        logits = logits.contiguous()
        weights = torch.empty(logits.shape[0], self.k, dtype=logits.dtype, device=logits.device)
        indices = torch.empty(logits.shape[0], self.k, dtype=torch.int64, device=logits.device)
        module.topk_gating(weights, indices, logits, self.k)
        return weights, indices
