# +++
# title = "Tensor core matrix product in CUDA C++ with WMMA: bfloat16 in, float32 sums, any size"
# architectures = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"]
# bottleneck = "compute"
# phase = "write"
# sources = [
#   "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
#   "https://developer.nvidia.com/blog/programming-tensor-cores-cuda-9/",
# ]
# tags = ["matmul", "wmma", "tensor-cores", "shared-memory", "half"]
# problem = "problems/matmul_bf16.py"
# evidence = [
#   { target = "sm_80", status = "compiled", text = "130 to 142 registers in 2 kernels, no spills, 29,184 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_90", status = "correct", text = "128 to 148 registers in 2 kernels, no spills, 29,184 bytes of shared memory, nvcc 13.2; H200, CUDA 13.0, torch 2.11: 1.17 ms a call, 0.17x (0.17 to 0.18) against the faster of eager and torch.compile" },
#   { target = "sm_100", status = "compiled", text = "126 registers, no spills, 29,184 bytes of shared memory, nvcc 13.2; not run yet" },
#   { target = "sm_120", status = "compiled", text = "126 registers, no spills, 29,184 bytes of shared memory, nvcc 13.2; not run yet" },
# ]
# +++
"""C = A B for row-major bfloat16 matrices of any size, accumulated in float32, rounded once.

- `nvcuda::wmma` is the portable way to tensor cores: fragments of 16 x 16 x 16, whose layout in registers is unspecified. They can be loaded from and
  stored to memory and scaled as a whole, nothing else: an epilogue that needs to know rows and columns goes through shared memory.
- Block tile 128 x 128, step 32 along k, 8 warps with 64 x 32 each: 4 x 2 accumulators, 8 products per 6 fragments loaded.
- `load_matrix_sync` wants a leading dimension that is a multiple of 8 elements (16 bytes) and a 32-byte aligned pointer. Rows are padded by 8
  elements: rows of 64 or 256 bytes would put several rows of a fragment into the same banks. 16 rows of 80 or 272 bytes keep the alignment.
- The next tile is loaded to registers while the tensor cores work on this one; one buffer and two barriers a tile. `cp.async` does it without
  the registers, see the mma example.
- Whole 16-byte pieces where k and n are multiples of 8, single elements otherwise; zeros outside.
- Each warp stages one 16 x 16 accumulator in shared memory at a time, `__syncwarp()` on both sides, and writes it with guards.
- All warps stay in all fragment operations: they are warp-wide (`.sync.aligned`), a lane that has left early makes them undefined.
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_bf16.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

constexpr int BM = 128, BN = 128, BK = 32, THREADS = 256, PAD = 8;
constexpr int A_PIECES = BM * BK / 8 / THREADS, B_PIECES = BK * BN / 8 / THREADS;

union Eight {
    uint4 bits;
    __nv_bfloat16 v[8];
    __device__ Eight() : bits(make_uint4(0, 0, 0, 0)) {}
};

// Eight elements of a row that ends at `limit`; zeros where there are none.
template <bool VECTORS> __device__ uint4 load8(const __nv_bfloat16* __restrict__ row, bool inside, int column, int limit) {
    Eight piece;
    if (inside && column < limit) {
        if constexpr (VECTORS) {
            piece.bits = *reinterpret_cast<const uint4*>(row + column);
        } else {
#pragma unroll
            for (int j = 0; j < 8; ++j)
                if (column + j < limit) piece.v[j] = row[column + j];
        }
    }
    return piece.bits;
}

template <bool VECTORS>
__global__ void __launch_bounds__(THREADS) matmul(__nv_bfloat16* __restrict__ c, const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                  int m, int k, int n) {
    __shared__ __align__(32) __nv_bfloat16 as[BM][BK + PAD];
    __shared__ __align__(32) __nv_bfloat16 bs[BK][BN + PAD];
    __shared__ __align__(32) float stage[THREADS / 32][16][20];
    const int row = blockIdx.y * BM, column = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    uint4 a_next[A_PIECES], b_next[B_PIECES];
    auto fetch = [&](int first) {
#pragma unroll
        for (int p = 0; p < A_PIECES; ++p) {
            const int i = threadIdx.x + p * THREADS, r = i / (BK / 8), at = i % (BK / 8) * 8;
            a_next[p] = load8<VECTORS>(a + (long long)(row + r) * k, row + r < m, first + at, k);
        }
#pragma unroll
        for (int p = 0; p < B_PIECES; ++p) {
            const int i = threadIdx.x + p * THREADS, r = i / (BN / 8), at = i % (BN / 8) * 8;
            b_next[p] = load8<VECTORS>(b + (long long)(first + r) * n, first + r < k, column + at, n);
        }
    };
    fetch(0);
    for (int first = 0; first < k; first += BK) {
        __syncthreads();  // the fragments of the last tile have been read
#pragma unroll
        for (int p = 0; p < A_PIECES; ++p) {
            const int i = threadIdx.x + p * THREADS;
            *reinterpret_cast<uint4*>(&as[i / (BK / 8)][i % (BK / 8) * 8]) = a_next[p];
        }
#pragma unroll
        for (int p = 0; p < B_PIECES; ++p) {
            const int i = threadIdx.x + p * THREADS;
            *reinterpret_cast<uint4*>(&bs[i / (BN / 8)][i % (BN / 8) * 8]) = b_next[p];
        }
        __syncthreads();
        if (first + BK < k) fetch(first + BK);
#pragma unroll
        for (int step = 0; step < BK; step += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> x[4];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> y[2];
#pragma unroll
            for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(x[i], &as[warp_row + 16 * i][step], BK + PAD);
#pragma unroll
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(y[j], &bs[step][warp_column + 16 * j], BN + PAD);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], x[i], y[j], sum[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(&stage[warp][0][0], sum[i][j], 20, wmma::mem_row_major);
            __syncwarp();
            const int to_row = row + warp_row + 16 * i + lane / 2, to = column + warp_column + 16 * j + lane % 2 * 8;
            Eight piece;
#pragma unroll
            for (int s = 0; s < 8; ++s) piece.v[s] = __float2bfloat16_rn(stage[warp][lane / 2][lane % 2 * 8 + s]);
            if (to_row < m && to < n) {
                __nv_bfloat16* place = c + (long long)to_row * n + to;
                if constexpr (VECTORS) {
                    *reinterpret_cast<uint4*>(place) = piece.bits;
                } else {
#pragma unroll
                    for (int s = 0; s < 8; ++s)
                        if (to + s < n) place[s] = piece.v[s];
                }
            }
            __syncwarp();
        }
    }
}

void matmul_wmma(torch::Tensor out, torch::Tensor a, torch::Tensor b) {
    const c10::cuda::CUDAGuard guard(a.device());
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    TORCH_CHECK(b.size(0) == k, "sizes do not fit");
    TORCH_CHECK(m <= 65535LL * BM && n < (1LL << 31) - BN && k < (1LL << 31) - 2 * BK, "too large");
    if (m == 0 || n == 0) return;
    const uintptr_t places = reinterpret_cast<uintptr_t>(a.data_ptr()) | reinterpret_cast<uintptr_t>(b.data_ptr());
    auto launch = k % 8 == 0 && n % 8 == 0 && places % 16 == 0 ? matmul<true> : matmul<false>;
    launch<<<dim3((n + BN - 1) / BN, (m + BM - 1) / BM), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        static_cast<__nv_bfloat16*>(out.data_ptr()), static_cast<const __nv_bfloat16*>(a.data_ptr()), static_cast<const __nv_bfloat16*>(b.data_ptr()), m, k,
        n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

CPP = "void matmul_wmma(torch::Tensor out, torch::Tensor a, torch::Tensor b);"
module = load_inline("kw_matmul_wmma", cpp_sources=CPP, cuda_sources=CUDA, functions=["matmul_wmma"])


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dtype != torch.bfloat16 or b.dtype != torch.bfloat16:
            raise TypeError(f"this kernel is for bfloat16, not {a.dtype} and {b.dtype}")
        out = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
        module.matmul_wmma(out, a.contiguous(), b.contiguous())
        return out
