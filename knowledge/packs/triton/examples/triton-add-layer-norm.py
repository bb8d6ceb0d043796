# +++
# title = "Residual addition fused with layer norm in Triton, both results stored"
# bottleneck = "memory_bandwidth"
# problem = "problems/add_layer_norm.py"
# sources = [
#   "https://arxiv.org/abs/1607.06450",
#   "https://triton-lang.org/main/getting-started/tutorials/05-layer-norm.html",
# ]
# tags = ["layernorm", "fusion", "reduction"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, FEATURES = 37, 1000; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: add_layer_norm 40 registers, no spills, 16 B shared memory; H200, torch 2.11, Triton 3.6: 73.7 us a call, 0.99x (0.98 to 1.01) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: add_layer_norm 33 registers, no spills, 16 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: add_layer_norm 33 registers, no spills, 16 B LDS" },
# ]
# +++
"""`total = x + residual` and its layer norm in one kernel: two reads and two writes of the tensor instead of three and two, one launch.

- The sum is stored *and* normed from registers. A separate layer norm would read it again: 5 passes against 4.
- The variance is the mean of squared distances from the mean, computed from the registers; `mean(x^2) - mean^2` would cancel when the
  mean is large against the spread. The masked lanes must be set to 0 again *after* the mean was subtracted: they would add mean^2 each.
- torch rounds `total` to the tensor's type before the norm reads it. For 16-bit tensors this kernel does the same (`.to(...)` and back),
  so that both outputs agree with each other.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_layer_norm(normed_ptr, total_ptr, x_ptr, residual_ptr, weight_ptr, bias_ptr, cols, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + start + offsets, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    residual = tl.load(residual_ptr + start + offsets, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    rounded = (x + residual).to(total_ptr.dtype.element_ty)
    tl.store(total_ptr + start + offsets, rounded, mask=mask)
    total = rounded.to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    centred = tl.where(mask, total - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(normed_ptr + start + offsets, centred * scale * weight + bias, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cols = x.shape[-1]
        x, residual = x.contiguous(), residual.contiguous()
        total, normed = torch.empty_like(x), torch.empty_like(x)
        if x.numel():
            block = triton.next_power_of_2(cols)
            add_layer_norm[(x.numel() // cols,)](
                normed, total, x, residual, self.norm.weight, self.norm.bias, cols, self.norm.eps,
                BLOCK=block, num_warps=min(16, max(1, block // 512)),
            )  # fmt: skip
        return normed, total
