# +++
# title = "Grouped matmul for mixture of experts in Triton: run lengths on the device, one launch"
# bottleneck = "compute"
# problem = "problems/grouped_matmul.py"
# sources = ["https://triton-lang.org/main/getting-started/tutorials/08-grouped-gemm.html"]
# tags = ["matmul", "masks"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: TOKENS, EXPERTS, IN, OUT = 300, 5, 136, 200; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: grouped_product 128 registers, no spills, 73,728 B shared memory; H200, torch 2.11, Triton 3.6: 57.8 us a call, 6.88x (5.47 to 8.52) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: grouped_product 120 registers, no spills, 24,576 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: grouped_product 100 registers, no spills, 51,376 B LDS" },
# ]
# +++
"""One launch for the products of all experts: rows sorted by expert, each run of rows times its own weight, run lengths known on the device only.

The plain form calls `.tolist()` on the run ends, which waits for the device, and launches one product per expert. Here the grid is an upper
bound that needs no such knowledge: a run may add at most one partial tile, so `ceil(tokens / BLOCK_M) + experts` row tiles are enough.

- Every program finds its expert by walking over the run ends and counting tiles: EXPERTS scalar loads that hit L1. For hundreds of experts
  compute the tile-to-expert table in one small kernel instead.
- Programs beyond the last tile leave at once (`return` at the top level of a kernel is allowed).
- Empty runs take no tile: `cdiv(0, BLOCK_M)` is 0.
- Rows of a tile that belong to the next expert are masked by `< last`, on loads by wrapping to a valid row and on the store by mask.
- Neighbouring programs share the expert's weight: the column tile is the slow index inside an expert only as far as L2 holds the weight.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def grouped_product(
    out_ptr, x_ptr, weight_ptr, ends_ptr, n, k, EXPERTS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    tile = tl.program_id(0)
    before = 0
    first = 0
    expert = -1
    run_first = 0
    run_last = 0
    local = 0
    for candidate in range(EXPERTS):
        last = tl.load(ends_ptr + candidate)
        tiles = tl.cdiv(last - first, BLOCK_M)
        here = (tile >= before) & (tile < before + tiles)
        expert = tl.where(here, candidate, expert)
        run_first = tl.where(here, first, run_first)
        run_last = tl.where(here, last, run_last)
        local = tl.where(here, tile - before, local)
        before += tiles
        first = last
    if expert < 0:
        return
    rows = run_first + local * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = rows < run_last
    safe_rows = tl.where(inside, rows, run_first).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + safe_rows[:, None] * k + inner[None, :]
    w_ptrs = weight_ptr + expert.to(tl.int64) * k * n + inner[:, None] * n + (cols % n)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        left = k - start
        x = tl.load(x_ptrs, mask=inner[None, :] < left, other=0.0)
        w = tl.load(w_ptrs, mask=inner[:, None] < left, other=0.0)
        acc = tl.dot(x, w, acc)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K * n
    tl.store(out_ptr + safe_rows[:, None] * n + cols[None, :], acc, mask=inside[:, None] & (cols[None, :] < n))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        x, weight = x.contiguous(), weight.contiguous()
        (tokens, k), (experts, _, n) = x.shape, weight.shape
        # The last end is the number of tokens, so that every row is written.
        out = torch.empty((tokens, n), device=x.device, dtype=x.dtype)
        if out.numel():
            block_m, block_n = 64, 128
            grid = (triton.cdiv(tokens, block_m) + experts, triton.cdiv(n, block_n))
            grouped_product[grid](
                out, x, weight, ends, n, k, EXPERTS=experts, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=64, num_warps=4,
                num_stages=2 if torch.version.hip else 3,
            )  # fmt: skip
        return out
