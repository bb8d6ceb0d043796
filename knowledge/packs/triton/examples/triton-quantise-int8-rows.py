# +++
# title = "Row-wise int8 quantisation in Triton, bit-equal to torch: exact division, round half to even"
# bottleneck = "memory_bandwidth"
# problem = "problems/quantise_int8_rows.py"
# sources = [
#   "https://triton-lang.org/main/python-api/generated/triton.language.div_rn.html",
#   "https://docs.pytorch.org/docs/stable/generated/torch.round.html",
# ]
# tags = ["quantisation", "reduction", "math"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, COLS = 37, 1000; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: quantise_rows 34 registers, no spills, 32 B shared memory; H200, torch 2.11, Triton 3.6: 49.4 us a call, 8.89x (8.22 to 9.39) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: quantise_rows 20 registers, no spills, 32 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: quantise_rows 20 registers, no spills, 32 B LDS" },
# ]
# +++
"""Symmetric int8 quantisation, one scale a row: `scale = max|x| / 127`, `q = round(x / scale)`. One read, a quarter of it written.

- A row stays in registers between its maximum and the division.
- Bits must match torch where a value lies near a rounding border: the division is IEEE (`tl.div_rn`), because the ordinary float32 division
  of Triton is approximate on NVIDIA; multiplying by 1 / scale rounds twice and moves about one value in 10^7 to its neighbour.
  torch on a GPU multiplies by 1 / 127 for the scale itself: 2 of 33,554,432 integers differed by one there, which rounding decides.
- torch.round rounds halves to even. Adding and subtracting 1.5 * 2^23 does that for |x| < 2^22 in float32 arithmetic that is not reassociated:
  needs no library call, works on all back ends and in the interpreter. Converting with `.to(tl.int8)` alone truncates towards zero.
- A NaN makes its row's scale NaN and all its integers 0, as in torch: `tl.max` drops NaN, so it is looked for separately, and the conversion
  of NaN to an integer is undefined, so it is replaced first.
- The clamp at 127 needs no comparison for finite rows (|x| / scale <= 127 up to rounding, which rounds to 127).
- fp8 rows are the same kernel with 448 (`float8_e4m3fn`) in place of 127 and the conversion doing the rounding; on gfx942 hardware fp8 is
  `float8_e4m3fnuz` with a largest value of 240.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def quantise_rows(out_ptr, scale_ptr, in_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(in_ptr + row * cols + offsets, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    scale = tl.div_rn(tl.maximum(tl.max(tl.abs(x), axis=0), 1e-12), 127.0)
    scale = tl.where(tl.sum((x != x).to(tl.int32), axis=0) > 0, float("nan"), scale)
    tl.store(scale_ptr + row, scale)
    ratio = tl.div_rn(x, tl.zeros([BLOCK], tl.float32) + scale)
    rounded = (ratio + 12582912.0) - 12582912.0
    tl.store(out_ptr + row * cols + offsets, tl.where(rounded != rounded, 0.0, rounded).to(tl.int8), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cols = x.shape[-1]
        x = x.contiguous()
        out = torch.empty(x.shape, device=x.device, dtype=torch.int8)
        scale = torch.empty((*x.shape[:-1], 1), device=x.device, dtype=torch.float32)
        if out.numel():
            block = triton.next_power_of_2(cols)
            quantise_rows[(x.numel() // cols,)](out, scale, x, cols, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out, scale
