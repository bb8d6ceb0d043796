# +++
# title = "Pipelined tensor core linear layer in CUDA C++: cp.async, ldmatrix, mma.sync, bias and ReLU fused"
# architectures = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"]
# bottleneck = "compute"
# phase = "write"
# sources = [
#   "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html",
#   "https://docs.nvidia.com/cuda/ampere-tuning-guide/index.html",
# ]
# tags = ["matmul", "tensor-cores", "async-copy", "pipelining", "ptx", "fusion", "half"]
# problem = "problems/linear_relu_fp16.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "127 registers, no spills, 56,832 bytes of dynamic shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "122 registers, no spills, 56,832 bytes of dynamic shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 649 us a call, 0.47x (0.44 to 0.50) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "122 registers, no spills, 56,832 bytes of dynamic shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "118 registers, no spills, 56,832 bytes of dynamic shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""relu(x W + bias), float16, sums in float32: the multi-stage kernel of sm_80, which runs on everything later as well.

- Three stages in shared memory, 16-byte `cp.async` copies that need no registers. One commit per iteration, also when nothing is left to copy: then
  `wait_group STAGES - 2` always means "the oldest tile is there", up to the last one.
- One barrier an iteration, after the wait: it publishes the tile that has arrived and says that the stage which is refilled next has been read.
- Out of range: the source size operand is 0 and the copy writes zeros. The address must still be valid, so it is clamped to the tensor's start.
- 16-byte copies need k and n to be multiples of 8; ragged m, and k and n that are no multiples of the tile, are fine. Others are refused.
- `ldmatrix` gives a 16 x 16 piece of A in the layout of m16n8k16; with `.trans` two 16 x 8 pieces of a row-major B. Rows of 80 and 272 bytes
  (16 bytes of padding) put the 8 rows of one 8 x 8 matrix into different banks.
- Accumulator: lane / 4 is the row (and + 8), lane % 4 * 2 the column of a pair. That is known here, unlike with WMMA, so bias and ReLU are applied
  in registers and pairs are stored directly.
- 56,832 bytes of dynamic shared memory: above 48 KB a kernel has to opt in with `cudaFuncSetAttribute`, else the launch fails with "invalid argument".
- On Hopper and datacentre Blackwell this path reaches only part of the tensor rate: wgmma and tcgen05 are the fast ones there.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_fp16.h>

constexpr int BM = 128, BN = 128, BK = 32, THREADS = 256, STAGES = 3;
constexpr int A_ROW = BK + 8, B_ROW = BN + 8;
constexpr int A_BYTES = BM * A_ROW * 2, B_BYTES = BK * B_ROW * 2, STAGE_BYTES = A_BYTES + B_BYTES;

__device__ void copy16(unsigned to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
__device__ void load_matrices(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
__device__ void load_transposed(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS) linear_relu(__half* __restrict__ out, const __half* __restrict__ x, const __half* __restrict__ weight,
                                                       const __half* __restrict__ bias, int m, int k, int n) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const int row = blockIdx.y * BM, column = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    const int tiles = (k + BK - 1) / BK;

    auto fetch = [&](int tile) {
        if (tile < tiles) {
            const unsigned stage = shared + tile % STAGES * STAGE_BYTES;
#pragma unroll
            for (int p = 0; p < BM * BK / 8 / THREADS; ++p) {
                const int i = threadIdx.x + p * THREADS, r = i / (BK / 8), at = i % (BK / 8) * 8, col = tile * BK + at;
                const bool inside = row + r < m && col < k;
                copy16(stage + (r * A_ROW + at) * 2, inside ? x + (long long)(row + r) * k + col : x, inside);
            }
#pragma unroll
            for (int p = 0; p < BK * BN / 8 / THREADS; ++p) {
                const int i = threadIdx.x + p * THREADS, r = i / (BN / 8), at = i % (BN / 8) * 8, from = tile * BK + r;
                const bool inside = from < k && column + at < n;
                copy16(stage + A_BYTES + (r * B_ROW + at) * 2, inside ? weight + (long long)from * n + column + at : weight, inside);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    float sum[4][4][4] = {};  // 4 x 16 rows, 4 x 8 columns
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) fetch(tile);
    for (int tile = 0; tile < tiles; ++tile) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        fetch(tile + STAGES - 1);  // into the stage that was read in the last iteration
        const unsigned a_stage = shared + tile % STAGES * STAGE_BYTES, b_stage = a_stage + A_BYTES;
#pragma unroll
        for (int step = 0; step < BK; step += 16) {
            unsigned a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)  // lanes 0-15: rows, columns 0-7; lanes 16-31: the same rows, columns 8-15
                load_matrices(a[i], a_stage + ((warp_row + 16 * i + lane % 16) * A_ROW + step + lane / 16 * 8) * 2);
#pragma unroll
            for (int j = 0; j < 2; ++j)  // 16 rows along k, 16 columns: registers 0, 1 for the first 8 columns, 2, 3 for the others
                load_transposed(b[j], b_stage + ((step + lane % 16) * B_ROW + warp_column + 16 * j + lane / 16 * 8) * 2);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int to = column + warp_column + 8 * j + lane % 4 * 2;  // n is even: both columns of a pair are inside, or none
        if (to >= n) continue;
        const float2 add = __half22float2(*reinterpret_cast<const __half2*>(bias + to));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int to_row = row + warp_row + 16 * i + lane / 4 + 8 * half;
                if (to_row >= m) continue;
                const float left = sum[i][j][2 * half] + add.x, right = sum[i][j][2 * half + 1] + add.y;
                // Not fmaxf: it would turn a NaN into 0.
                *reinterpret_cast<__half2*>(out + (long long)to_row * n + to) = __floats2half2_rn(left < 0.0f ? 0.0f : left, right < 0.0f ? 0.0f : right);
            }
        }
    }
}

void linear_relu_into(torch::Tensor out, torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    const c10::cuda::CUDAGuard guard(x.device());
    const int64_t m = x.size(0), k = x.size(1), n = weight.size(1);
    TORCH_CHECK(weight.size(0) == k && bias.numel() == n, "sizes do not fit");
    TORCH_CHECK(k > 0 && k % 8 == 0 && n % 8 == 0, "both sizes of the weight must be multiples of 8");
    TORCH_CHECK(m <= 65535LL * BM && n < (1LL << 31) - BN && k < (1LL << 31) - STAGES * BK, "too large");
    if (m == 0 || n == 0) return;
    uintptr_t places = reinterpret_cast<uintptr_t>(x.data_ptr()) | reinterpret_cast<uintptr_t>(weight.data_ptr());
    places |= reinterpret_cast<uintptr_t>(bias.data_ptr());
    TORCH_CHECK(places % 16 == 0, "all tensors must be aligned to 16 bytes");
    C10_CUDA_CHECK(cudaFuncSetAttribute(linear_relu, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * STAGE_BYTES));
    linear_relu<<<dim3((n + BN - 1) / BN, (m + BM - 1) / BM), THREADS, STAGES * STAGE_BYTES, at::cuda::getCurrentCUDAStream()>>>(
        static_cast<__half*>(out.data_ptr()), static_cast<const __half*>(x.data_ptr()), static_cast<const __half*>(weight.data_ptr()),
        static_cast<const __half*>(bias.data_ptr()), m, k, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

CPP = "void linear_relu_into(torch::Tensor out, torch::Tensor x, torch::Tensor weight, torch::Tensor bias);"
module = load_inline("kw_linear_mma_cp_async", cpp_sources=CPP, cuda_sources=CUDA, functions=["linear_relu_into"])


class ModelNew(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(inputs, outputs) / inputs**0.5).half())
        self.bias = nn.Parameter((torch.randn(outputs) * 0.1).half())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float16 or x.dim() != 2:
            raise TypeError(f"this kernel is for float16 matrices, not {x.dtype} of {x.dim()} dimensions")
        out = torch.empty(x.shape[0], self.weight.shape[1], dtype=x.dtype, device=x.device)
        module.linear_relu_into(out, x.contiguous(), self.weight, self.bias)
        return out
