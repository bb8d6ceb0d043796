# +++
# title = "Column sum of a tall matrix in Triton: two stages, deterministic, no atomics"
# bottleneck = "memory_bandwidth"
# problem = "problems/column_sum.py"
# sources = ["https://triton-lang.org/main/getting-started/tutorials/05-layer-norm.html"]
# tags = ["reduction"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, COLS = 3001, 300; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: partial_sums 56 registers, no spills, 2,048 B shared memory; add_slices 32 registers, no spills, 512 B shared memory; H200, torch 2.11, Triton 3.6: 74.1 us a call, 0.87x (0.87 to 0.88) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: partial_sums 46 registers, no spills, 2,048 B LDS; add_slices 15 registers, no spills, 512 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: partial_sums 45 registers, no spills, 2,048 B LDS; add_slices 17 registers, no spills, 512 B LDS" },
# ]
# +++
"""Sum over the rows of a tall matrix (a bias gradient) in two launches, without atomics.

A program per column block alone would leave most of the device idle: 1024 columns are 8 blocks of 128. The rows are therefore cut into
`SLICES` parts as well; each program adds its part into one line of `partial`, and a second small launch adds the lines.

- Accesses stay coalesced: a tile is TILE_ROWS x 128 columns, the column index runs along neighbouring threads. Accumulating a 2-D tile and
  reducing it *once* behind the loop costs one cross-thread reduction instead of one per iteration.
- The result does not depend on the order in which programs run: same bits every time. `tl.atomic_add` of the partial sums saves the second
  launch, but needs zeroed memory and gives other last bits on each run.
- SLICES is a constant of the shape, not of the machine, so that results agree between machines. 64 slices x 8 blocks = 512 programs.
- The partial sums cost SLICES / ROWS of the traffic: 0.1 % here.
"""

import torch
import triton
import triton.language as tl
from torch import nn

SLICES, TILE_ROWS, TILE_COLS = 64, 32, 128


@triton.jit
def partial_sums(partial_ptr, in_ptr, rows, cols, rows_per_slice, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    columns = tl.program_id(0) * TILE_COLS + tl.arange(0, TILE_COLS)
    part = tl.program_id(1)
    first = part * rows_per_slice
    last = min(first + rows_per_slice, rows)
    acc = tl.zeros((TILE_ROWS, TILE_COLS), tl.float32)
    for start in range(first, last, TILE_ROWS):
        lines = start + tl.arange(0, TILE_ROWS)
        mask = (lines[:, None] < last) & (columns[None, :] < cols)
        acc += tl.load(in_ptr + lines[:, None].to(tl.int64) * cols + columns[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(partial_ptr + part * cols + columns, tl.sum(acc, axis=0), mask=columns < cols)


@triton.jit
def add_slices(out_ptr, partial_ptr, cols, SLICES: tl.constexpr, TILE_COLS: tl.constexpr):
    columns = tl.program_id(0) * TILE_COLS + tl.arange(0, TILE_COLS)
    lines = tl.arange(0, SLICES)
    values = tl.load(partial_ptr + lines[:, None] * cols + columns[None, :], mask=columns[None, :] < cols, other=0.0)
    tl.store(out_ptr + columns, tl.sum(values, axis=0), mask=columns < cols)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        partial = torch.empty((SLICES, cols), device=x.device, dtype=torch.float32)
        out = torch.empty(cols, device=x.device, dtype=x.dtype)
        if cols:
            blocks = triton.cdiv(cols, TILE_COLS)
            partial_sums[(blocks, SLICES)](
                partial, x, rows, cols, triton.cdiv(rows, SLICES), TILE_ROWS=TILE_ROWS, TILE_COLS=TILE_COLS, num_warps=4
            )
            add_slices[(triton.cdiv(cols, 32),)](out, partial, cols, SLICES=SLICES, TILE_COLS=32, num_warps=4)
        return out
