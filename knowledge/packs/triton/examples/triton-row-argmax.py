# +++
# title = "Row argmax in Triton: per-lane best, lowest index on ties, NaN as in torch"
# bottleneck = "memory_bandwidth"
# problem = "problems/row_argmax.py"
# sources = [
#   "https://docs.pytorch.org/docs/stable/generated/torch.argmax.html",
#   "https://triton-lang.org/main/python-api/generated/triton.language.argmax.html",
# ]
# tags = ["reduction", "nan", "sorting"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, COLS = 24, 5001; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: row_argmax 54 registers, no spills, 16 B shared memory; H200, torch 2.11, Triton 3.6: 244 us a call, 1.12x (1.12 to 1.13) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: row_argmax 45 registers, no spills, 16 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: row_argmax 45 registers, no spills, 16 B LDS" },
# ]
# +++
"""Index of the largest value of every row, one read of the input, lowest index on ties.

- Each lane keeps its best value and the index of it over the whole row: no cross-thread work inside the loop. One reduction at the end.
- `tl.max(..., return_indices=True)` would give an index *inside a block*, and needs a reduction per block.
- A later block replaces a lane's value only if it is strictly larger, so a lane keeps its lowest index. At the end the row's maximum is
  found first, then the smallest index among the lanes that have it: ties between lanes are decided by index, not by lane order.
- NaN: torch returns the index of the first NaN. Comparisons with NaN are false, so NaN is turned into a separate key: `isnan` lanes beat every
  number. Here a NaN is replaced by +inf and a real +inf by the largest finite float, which keeps the order of all other values; the one
  thing lost is telling the largest finite float from +inf.
- Masked lanes hold -inf and index `cols`; a row of only -inf returns 0 because lanes start with their own first index.
"""

import torch
import triton
import triton.language as tl
from torch import nn

LARGEST = tl.constexpr(3.4028234663852886e38)


@triton.jit
def row_argmax(out_ptr, in_ptr, cols, row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    best = tl.full([BLOCK], -float("inf"), tl.float32)
    index = lanes
    for start in range(0, cols, BLOCK):
        offsets = start + lanes
        x = tl.load(in_ptr + row * row_stride + offsets, mask=offsets < cols, other=-float("inf")).to(tl.float32)
        x = tl.where(x != x, float("inf"), tl.where(x == float("inf"), LARGEST, x))
        better = x > best
        best = tl.where(better, x, best)
        index = tl.where(better, offsets, index)
    top = tl.max(best, axis=0)
    tl.store(out_ptr + row, tl.min(tl.where((best == top) & (index < cols), index, cols), axis=0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cols = x.shape[-1]
        rows_view = x.contiguous().view(-1, cols)
        out = torch.empty(x.shape[:-1], device=x.device, dtype=torch.int64)
        if out.numel():
            block = min(2048, triton.next_power_of_2(cols))
            row_argmax[(rows_view.shape[0],)](out, rows_view, cols, rows_view.stride(0), BLOCK=block, num_warps=4)
        return out
