# +++
# title = "Persistent half precision matmul in Triton with a flattened tile loop"
# bottleneck = "compute"
# problem = "problems/matmul_square.py"
# sources = [
#   "https://triton-lang.org/main/getting-started/tutorials/09-persistent-matmul.html",
#   "https://triton-lang.org/main/python-api/generated/triton.language.range.html",
# ]
# tags = ["matmul", "persistent", "loops"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: N = 328; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: persistent_product 122 registers, no spills, 131,072 B shared memory; H200, torch 2.11, Triton 3.6: 259 us a call, 0.72x (0.71 to 0.73) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: persistent_product 146 registers, no spills, 32,768 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: persistent_product 118 registers, no spills, 68,016 B LDS" },
# ]
# +++
"""Persistent product in half precision: as many programs as multiprocessors, each walks over several tiles of the result.

- One program per multiprocessor: tile t, t + programs, t + 2 * programs ... The launch, the address set-up and the last, half-empty wave
  are paid once, and consecutive tiles of a program stay in grouped order so that concurrent programs share operands in L2.
- Worth it when there are few tiles per multiprocessor (2 to 8) or a heavy epilogue; with hundreds of tiles each, an ordinary grid is as
  good. 4096 x 4096 in 128 x 128 tiles: 1024 tiles, 7.8 for each of 132 multiprocessors.
- `tl.range(..., flatten=True)` lets the compiler merge the tile loop and the K loop into one pipelined loop, so that loads of the next
  tile start before the epilogue of this one. It only has an effect where the pipeliner supports it; it is always correct.
- Off a GPU (the interpreter) the number of programs is a constant; correctness does not depend on it.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def persistent_product(
    out_ptr, a_ptr, b_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    per_group = GROUP * tiles_n
    inner = tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        first_m = (tile // per_group) * GROUP
        group_rows = min(tiles_m - first_m, GROUP)
        tile_m = first_m + (tile % per_group) % group_rows
        tile_n = (tile % per_group) // group_rows
        rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
        a_rows = a_ptr + (rows % m)[:, None].to(tl.int64) * stride_am
        b_cols = b_ptr + (cols % n)[None, :].to(tl.int64) * stride_bn
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            left = k - start
            a = tl.load(a_rows + (start + inner)[None, :] * stride_ak, mask=inner[None, :] < left, other=0.0)
            b = tl.load(b_cols + (start + inner)[:, None] * stride_bk, mask=inner[:, None] < left, other=0.0)
            acc = tl.dot(a, b, acc)
        mask = (rows[:, None] < m) & (cols[None, :] < n)
        tl.store(out_ptr + rows[:, None].to(tl.int64) * n + cols[None, :], acc, mask=mask)


def multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 4


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[1]
        out = torch.empty((m, n), device=a.device, dtype=a.dtype)
        if out.numel():
            block_m, block_n = 128, 128
            programs = min(multiprocessors(a.device), triton.cdiv(m, block_m) * triton.cdiv(n, block_n))
            persistent_product[(programs,)](
                out, a, b, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), PROGRAMS=programs,
                BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=64, GROUP=8, num_warps=8, num_stages=2 if torch.version.hip else 3,
            )  # fmt: skip
        return out
