# +++
# title = "Rotary embedding of queries and keys in CUDA C++: one launch for both, bfloat16 by 16 bytes"
# bottleneck = "memory_bandwidth"
# phase = "write"
# sources = [
#   "https://arxiv.org/abs/2104.09864",
#   "https://docs.nvidia.com/cuda/cuda-math-api/index.html",
# ]
# tags = ["rotary", "half", "fusion", "vectorised-loads", "index"]
# problem = "problems/rotary_pair.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "32 registers, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "32 registers, no spills, no shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 107 us a call, 2.00x (1.84 to 2.42) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "32 registers, no spills, no shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "40 registers, no spills, no shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""(a, b) -> (a cos - b sin, b cos + a sin) for the two halves a, b of each head; q and k are (batch, heads, length, width), cos and sin (length, width / 2).

- One thread takes 8 values of each half: two 16-byte loads, four of the tables, two 16-byte stores. Both outputs need both halves, so a thread must
  own both: one output per thread would read everything twice.
- The block is two-dimensional, x along the head and y over rows of heads: no division for the place within a head, one 32-bit remainder for the
  position (row % length), because the length is the innermost of the outer dimensions.
- Rows of q come first, then those of k: one launch, and a tail of one tensor is filled by the other. The choice is uniform in a warp except at the seam.
- The tables are float32 and shared by all heads: length * width / 2 * 8 bytes, 2 MB here, read from L2. Arithmetic in float32, rounded once.
- Width must be a multiple of 16 (8 bfloat16 in each half) and q, k contiguous; anything else is refused rather than computed slowly.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_bf16.h>

constexpr int THREADS = 256;

union Eight {
    uint4 bits;
    __nv_bfloat162 pairs[4];
};

__global__ void __launch_bounds__(THREADS) rotate(uint4* __restrict__ q_out, uint4* __restrict__ k_out, const uint4* __restrict__ q,
                                                  const uint4* __restrict__ k, const float4* __restrict__ cosines, const float4* __restrict__ sines,
                                                  unsigned q_rows, unsigned rows, unsigned length) {
    const unsigned at = blockIdx.x * blockDim.y + threadIdx.y;
    if (at >= rows) return;
    const bool is_q = at < q_rows;
    const unsigned row = is_q ? at : at - q_rows, chunks = blockDim.x, chunk = threadIdx.x;
    const uint4* from = is_q ? q : k;
    uint4* to = is_q ? q_out : k_out;
    const long long first = (long long)row * 2 * chunks + chunk;
    Eight a, b, u, v;
    a.bits = from[first];
    b.bits = from[first + chunks];
    const long long table = ((long long)(row % length) * chunks + chunk) * 2;
    const float4 c0 = cosines[table], c1 = cosines[table + 1], s0 = sines[table], s1 = sines[table + 1];
    const float c[8] = {c0.x, c0.y, c0.z, c0.w, c1.x, c1.y, c1.z, c1.w}, s[8] = {s0.x, s0.y, s0.z, s0.w, s1.x, s1.y, s1.z, s1.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const float2 x = __bfloat1622float2(a.pairs[j]), y = __bfloat1622float2(b.pairs[j]);
        u.pairs[j] = __floats2bfloat162_rn(x.x * c[2 * j] - y.x * s[2 * j], x.y * c[2 * j + 1] - y.y * s[2 * j + 1]);
        v.pairs[j] = __floats2bfloat162_rn(y.x * c[2 * j] + x.x * s[2 * j], y.y * c[2 * j + 1] + x.y * s[2 * j + 1]);
    }
    to[first] = u.bits;
    to[first + chunks] = v.bits;
}

void rotary(torch::Tensor q_out, torch::Tensor k_out, torch::Tensor q, torch::Tensor k, torch::Tensor cosines, torch::Tensor sines) {
    const c10::cuda::CUDAGuard guard(q.device());
    const int64_t width = q.size(-1), length = q.size(-2), q_rows = q.numel() / width, rows = q_rows + k.numel() / width;
    TORCH_CHECK(width % 16 == 0 && width <= 16 * THREADS, "the width must be a multiple of 16");
    TORCH_CHECK(k.size(-1) == width && k.size(-2) == length, "q and k must have the same length and width");
    TORCH_CHECK(cosines.numel() == length * width / 2 && sines.numel() == cosines.numel(), "tables of (length, width / 2)");
    TORCH_CHECK(rows < (1LL << 31), "too many rows");
    uintptr_t places = reinterpret_cast<uintptr_t>(q.data_ptr()) | reinterpret_cast<uintptr_t>(k.data_ptr());
    places |= reinterpret_cast<uintptr_t>(cosines.data_ptr()) | reinterpret_cast<uintptr_t>(sines.data_ptr());
    TORCH_CHECK(places % 16 == 0, "all tensors must be aligned to 16 bytes");
    if (rows == 0) return;
    const unsigned chunks = width / 16, down = THREADS / chunks;
    rotate<<<(rows + down - 1) / down, dim3(chunks, down), 0, at::cuda::getCurrentCUDAStream()>>>(
        static_cast<uint4*>(q_out.data_ptr()), static_cast<uint4*>(k_out.data_ptr()), static_cast<const uint4*>(q.data_ptr()),
        static_cast<const uint4*>(k.data_ptr()), static_cast<const float4*>(cosines.data_ptr()), static_cast<const float4*>(sines.data_ptr()), q_rows,
        rows, length);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

CPP = "void rotary(torch::Tensor q_out, torch::Tensor k_out, torch::Tensor q, torch::Tensor k, torch::Tensor cosines, torch::Tensor sines);"
module = load_inline("kw_rotary_pair", cpp_sources=CPP, cuda_sources=CUDA, functions=["rotary"])


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        if q.dtype != torch.bfloat16 or k.dtype != torch.bfloat16 or cos.dtype != torch.float32 or sin.dtype != torch.float32:
            raise TypeError("this kernel is for bfloat16 heads and float32 tables")
        q, k = q.contiguous(), k.contiguous()
        q_out, k_out = torch.empty_like(q), torch.empty_like(k)
        module.rotary(q_out, k_out, q, k, cos.contiguous(), sin.contiguous())
        return q_out, k_out
