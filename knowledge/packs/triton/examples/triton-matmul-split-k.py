# +++
# title = "Split-K matmul in Triton: small result, long inner dimension, partial sums added in order"
# bottleneck = "occupancy"
# problem = "problems/matmul_long_k.py"
# sources = [
#   "https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html",
#   "https://arxiv.org/abs/2402.00025",
# ]
# tags = ["matmul", "split-k", "reduction"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: M, N, K = 80, 72, 4100; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: split_product 72 registers, no spills, 49,152 B shared memory; add_splits 32 registers, no spills, 0 B shared memory; H200, torch 2.11, Triton 3.6: 47.5 us a call, 0.35x (0.34 to 0.54) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: split_product 88 registers, no spills, 32,768 B LDS; add_splits 62 registers, no spills, 0 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: split_product 62 registers, no spills, 50,992 B LDS; add_splits 62 registers, no spills, 0 B LDS" },
# ]
# +++
"""Split-K: a small result with a long inner dimension, the inner dimension cut so that every multiprocessor has work.

256 x 256 results are 16 tiles of 64 x 64: 16 of 132 multiprocessors would work. With SPLITS = 32 there are 512 programs, each over K / 32.

- Partial products go to float32 memory and a second kernel adds them in a fixed order: deterministic, no zeroing. Atomic adds into the
  result need float32 output memory that is zeroed first, lose determinism, and cannot be done in half precision without losing accuracy.
- Extra traffic: SPLITS x M x N x 4 bytes written and read, 16 MiB here, against 32 MiB of operands. Choose SPLITS so that there are two
  to four programs per multiprocessor and no more; split-K loses as soon as M x N alone fills the machine.
- Each split's range is a multiple of BLOCK_K, so that only the last one has a ragged end.
- Operands are half precision: `input_precision` plays no part; sums are float32.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def split_product(
    partial_ptr, a_ptr, b_ptr, m, n, k, k_per_split, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(n, BLOCK_N)
    tile = tl.program_id(0)
    split = tl.program_id(1)
    rows = (tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = split * k_per_split + tl.arange(0, BLOCK_K)
    end = min(k, (split + 1) * k_per_split)
    a_ptrs = a_ptr + (rows % m)[:, None].to(tl.int64) * stride_am + inner[None, :].to(tl.int64) * stride_ak
    b_ptrs = b_ptr + inner[:, None].to(tl.int64) * stride_bk + (cols % n)[None, :].to(tl.int64) * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(split * k_per_split, end, BLOCK_K):
        left = end - start
        reach = tl.arange(0, BLOCK_K)
        a = tl.load(a_ptrs, mask=reach[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=reach[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    base = partial_ptr + split.to(tl.int64) * m * n
    tl.store(base + rows[:, None].to(tl.int64) * n + cols[None, :], acc, mask=mask)


@triton.jit
def add_splits(out_ptr, partial_ptr, size, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    total = tl.zeros([BLOCK], tl.float32)
    for split in range(SPLITS):
        total += tl.load(partial_ptr + split * size + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, total, mask=mask)


class ModelNew(nn.Module):
    splits = 32

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[1]
        out = torch.empty((m, n), device=a.device, dtype=a.dtype)
        if out.numel():
            block_m, block_n, block_k = 64, 64, 64
            per_split = triton.cdiv(triton.cdiv(k, self.splits), block_k) * block_k
            splits = max(1, triton.cdiv(k, per_split))
            partial = torch.empty((splits, m, n), device=a.device, dtype=torch.float32)
            grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n), splits)
            split_product[grid](
                partial, a, b, m, n, k, per_split, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
                BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, num_warps=4, num_stages=3,
            )  # fmt: skip
            add_splits[(triton.cdiv(m * n, 512),)](out, partial, m * n, SPLITS=splits, BLOCK=512, num_warps=4)
        return out
