# +++
# title = "RMS norm in Triton: one pass, weight shared, row kept in registers"
# bottleneck = "memory_bandwidth"
# problem = "problems/rms_norm.py"
# sources = [
#   "https://arxiv.org/abs/1910.07467",
#   "https://triton-lang.org/main/getting-started/tutorials/05-layer-norm.html",
# ]
# tags = ["reduction", "fusion", "registers"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, FEATURES = 37, 1000; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: rms_norm 46 registers, no spills, 32 B shared memory; H200, torch 2.11, Triton 3.6: 75.0 us a call, 0.91x (0.90 to 0.93) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: rms_norm 26 registers, no spills, 32 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: rms_norm 26 registers, no spills, 32 B LDS" },
# ]
# +++
"""Root mean square norm over the last dimension, `x * rsqrt(mean(x^2) + eps) * weight`: one read and one write of device memory.

- One program keeps one row in registers, so the row is not read again after its mean is known. Eager torch reads or writes it about
  eight times (pow, mean, multiply, multiply).
- `num_warps` keeps a thread at 16 to 32 values; above 32,768 columns the registers of 32 warps no longer hold a row and a two-sweep
  kernel is needed, which this file refuses to be: it raises.
- The weight is shared by all rows: the default cache policy keeps it in L2, while `x` is a stream (`evict_first`).
- Sums are in float32 whatever the input's type. Masked lanes load 0, which adds nothing to the sum; the divisor is `cols`, not BLOCK.
"""

import torch
import triton
import triton.language as tl
from torch import nn

LONGEST_ROW = 32768
#: 1024 threads: 32 warps of 32 lanes on NVIDIA, 16 of 64 on AMD.
MOST_WARPS = 16 if torch.version.hip else 32


@triton.jit
def rms_norm(out_ptr, in_ptr, weight_ptr, cols, row_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(in_ptr + row * row_stride + offsets, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + eps)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cols = x.shape[-1]
        if cols > LONGEST_ROW:
            raise ValueError(f"rows of more than {LONGEST_ROW} values need a kernel with two sweeps")
        rows_view = x.contiguous().view(-1, cols)
        out = torch.empty_like(rows_view)
        if out.numel():
            block = triton.next_power_of_2(cols)
            warps = min(MOST_WARPS, max(1, block // 512))
            rms_norm[(rows_view.shape[0],)](
                out, rows_view, self.weight, cols, rows_view.stride(0), self.eps, BLOCK=block, num_warps=warps
            )
        return out.view(x.shape)
