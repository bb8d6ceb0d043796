# +++
# title = "Running sum along rows in Triton: block scan with a carry"
# bottleneck = "memory_bandwidth"
# problem = "problems/row_cumsum.py"
# sources = ["https://triton-lang.org/main/python-api/generated/triton.language.cumsum.html"]
# tags = ["scan"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, COLS = 16, 5000; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: row_cumsum 56 registers, no spills, 8,256 B shared memory; H200, torch 2.11, Triton 3.6: 145 us a call, 1.01x (1.01 to 1.01) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: row_cumsum 54 registers, no spills, 32 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: row_cumsum 54 registers, no spills, 32 B LDS" },
# ]
# +++
"""Running sum along rows: one program per row walks over blocks and carries the sum, one read and one write of device memory.

- `tl.cumsum` scans a block in registers and shared memory; the carry is the block's total added to what came before. The total is taken
  with `tl.sum`, because Triton cannot read the last element of a block.
- The rows give the parallelism: 4096 programs. For a few very long rows cut the row instead: (1) totals of all blocks, (2) a scan of the
  totals, (3) a scan of every block plus its carry: one more read, many more programs.
- float32 sums in another order than torch: a row of N values may differ by about sqrt(N) units in the last place of the largest partial
  sum. The tree inside a block is more accurate than a serial sum.
- The carry loop is a dependency from iteration to iteration; loads do not depend on it, so `num_stages` can still run them ahead.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_cumsum(out_ptr, in_ptr, cols, BLOCK: tl.constexpr):
    line = tl.program_id(0).to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    carry = 0.0
    for start in tl.range(0, cols, BLOCK, num_stages=2):
        offsets = start + lanes
        mask = offsets < cols
        x = tl.load(in_ptr + line + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + line + offsets, tl.cumsum(x, axis=0) + carry, mask=mask)
        carry += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cols = x.shape[-1]
        x = x.contiguous()
        out = torch.empty_like(x)
        if out.numel():
            block = min(2048, triton.next_power_of_2(cols))
            row_cumsum[(x.numel() // cols,)](out, x, cols, BLOCK=block, num_warps=4)
        return out
