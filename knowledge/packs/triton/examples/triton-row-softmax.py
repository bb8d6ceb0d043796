# +++
# title = "Row softmax in Triton: one pass in registers, online softmax for long rows"
# bottleneck = "memory_bandwidth"
# problem = "problems/row_softmax.py"
# sources = [
#   "https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html",
#   "https://arxiv.org/abs/1805.02867",
#   "measured: torch.softmax of 8192 x 8192 fp32 on an H200: 0.279 ms, floor 0.127 ms (512 MiB at 4.24 TB/s)",
# ]
# tags = ["softmax", "reduction", "masks"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, COLS = 40, 1000; values only, no time" },
#   { target = "sm_90", status = "compiled", text = "Triton 3.9: softmax_short 50 registers, no spills, 32 B shared memory" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: softmax_short 32 registers, no spills, 32 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: softmax_short 32 registers, no spills, 32 B LDS" },
# ]
# +++
"""Softmax over the last dimension. Two kernels, chosen by row length.

Up to 32768 columns one program holds its row in registers: one read and one write of device memory, nothing else. `num_warps` grows with
the row, so that a thread holds at most about 32 values; more would spill. Longer rows take two reads: the first keeps a running maximum
and sum per lane (online softmax), the second writes.

- Masked lanes load -inf: they neither win the maximum nor add to the sum.
- `row` is made int64 before it is multiplied by the stride: rows * cols passes 2**31 at 65536 x 32768.
- A lane of the long-row kernel may see only -inf at first. `safe` replaces the -inf maximum by 0, so that exp(-inf - -inf) does not make
  NaN where torch has a number. A row that is -inf throughout still gives NaN (0 / 0), as torch does.
- `tl.max` drops NaN, but exp(NaN - max) brings it back through the sum, so a NaN makes its whole row NaN, as in torch.
- Computation is in float32 whatever the input's type; the store converts.
"""

import torch
import triton
import triton.language as tl
from torch import nn

SHORT_ROW = 32768


@triton.jit
def softmax_short(out_ptr, in_ptr, cols, row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(in_ptr + row * row_stride + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def softmax_long(out_ptr, in_ptr, cols, row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + lanes
        x = tl.load(in_ptr + row * row_stride + offsets, mask=offsets < cols, other=-float("inf"), eviction_policy="evict_last").to(tl.float32)
        higher = tl.maximum(top, x)
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - safe) + tl.exp(x - safe)
        top = higher
    row_top = tl.max(top, axis=0)
    safe_top = tl.where(row_top == -float("inf"), 0.0, row_top)
    row_total = tl.sum(total * tl.exp(top - safe_top), axis=0)
    for start in range(0, cols, BLOCK):
        offsets = start + lanes
        mask = offsets < cols
        x = tl.load(in_ptr + row * row_stride + offsets, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, tl.exp(x - safe_top) / row_total, mask=mask)


def warps_for(block: int) -> int:
    """At most about 32 values a thread, between 1 and 32 warps."""
    return min(32, max(1, block // 1024))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cols = x.shape[-1]
        rows_view = x.contiguous().view(-1, cols)
        out = torch.empty_like(rows_view)
        rows = rows_view.shape[0]
        if rows == 0 or cols == 0:
            return out.view(x.shape)
        if cols <= SHORT_ROW:
            block = triton.next_power_of_2(cols)
            softmax_short[(rows,)](out, rows_view, cols, rows_view.stride(0), BLOCK=block, num_warps=warps_for(block))
        else:
            softmax_long[(rows,)](out, rows_view, cols, rows_view.stride(0), BLOCK=8192, num_warps=16)
        return out.view(x.shape)
