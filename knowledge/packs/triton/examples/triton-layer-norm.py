# +++
# title = "Layer norm forward in Triton: row in registers, variance around the mean"
# bottleneck = "memory_bandwidth"
# problem = "problems/layer_norm.py"
# sources = [
#   "https://triton-lang.org/main/getting-started/tutorials/05-layer-norm.html",
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html",
# ]
# tags = ["layernorm", "reduction", "masks"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, FEATURES = 37, 1000; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: layer_norm_kernel 64 registers, no spills, 16 B shared memory; H200, torch 2.11, Triton 3.6: 72.3 us a call, 0.95x (0.94 to 1.00) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: layer_norm_kernel 59 registers, no spills, 16 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: layer_norm_kernel 59 registers, no spills, 16 B LDS" },
# ]
# +++
"""Layer norm over the last dimension with weight and bias, one program per row, one read and one write of the activation.

- The row stays in registers between mean, variance and output: no second read, and the two-step variance costs no memory traffic.
- After subtracting the mean the padded lanes hold -mean, not 0. `tl.where(mask, x - mean, 0.0)` keeps them out of the variance; leaving it
  out is the usual bug here, and it shows only when the row length is no power of two.
- Divide by `cols`, not by BLOCK.
- Weight and bias are read by every program. They stay in L2 (and L1); no extra device memory traffic.
- RMS norm is the same kernel without the mean: `scale = rsqrt(sum(x * x) / cols + eps)`.
- Rows above 32768 elements do not fit into the registers of one program and are refused here; loop over blocks as in the long-row softmax.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layer_norm_kernel(out_ptr, in_ptr, weight_ptr, bias_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(in_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / cols
    scale = tl.rsqrt(variance + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, centred * scale * weight + bias, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cols = x.shape[-1]
        if cols > 32768:
            raise ValueError(f"rows of {cols} elements do not fit into registers")
        rows_view = x.contiguous().view(-1, cols)
        out = torch.empty_like(rows_view)
        rows = rows_view.shape[0]
        if rows:
            block = triton.next_power_of_2(cols)
            layer_norm_kernel[(rows,)](
                out, rows_view, self.norm.weight, self.norm.bias, cols, self.norm.eps, BLOCK=block, num_warps=min(32, max(1, block // 1024))
            )
        return out.view(x.shape)
