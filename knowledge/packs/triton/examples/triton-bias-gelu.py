# +++
# title = "Fused elementwise chain in Triton: bias, exact GELU and residual in one kernel"
# bottleneck = "memory_bandwidth"
# problem = "problems/bias_gelu_residual.py"
# sources = [
#   "https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html",
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.GELU.html",
# ]
# tags = ["fusion", "vectorised-loads", "masks"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, FEATURES = 37, 1000; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: bias_gelu_residual 38 registers, no spills, 0 B shared memory; H200, torch 2.11, Triton 3.6: 97.1 us a call, 1.01x (1.00 to 1.01) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: bias_gelu_residual 20 registers, no spills, 0 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: bias_gelu_residual 20 registers, no spills, 0 B LDS" },
# ]
# +++
"""`gelu(x + bias) + residual`, bias along the last dimension, erf form of GELU.

Eager torch runs three kernels: 3 reads and 3 writes of full tensors besides the residual. This one reads x and residual once and writes once.

- A flat 1-D grid over all elements: shape does not matter, and tails cost one masked block. BLOCK 1024 with 4 warps gives each thread 8
  values: two 16-byte loads for float32, one for 16-bit types.
- The bias index is `offset % cols`. When the bias would be hard to index (several broadcast dimensions) use a 2-D grid instead of div and mod.
- `start` is int64: above 2**31 elements `program_id * BLOCK` overflows int32.
- Compute in float32 and let the store round to the output's type; the torch reference in half precision rounds after every operator, so
  the fused result is at least as close to the exact one.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bias_gelu_residual(out_ptr, x_ptr, bias_ptr, residual_ptr, count, cols, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(bias_ptr + offsets % cols, mask=mask, other=0.0).to(tl.float32)
    gelu = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(out_ptr + offsets, gelu + residual, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features) * 0.02)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        if x.shape != residual.shape or x.shape[-1] != self.bias.shape[0]:
            raise ValueError("expected x and residual of one shape that ends in the bias' length")
        x, residual = x.contiguous(), residual.contiguous()
        out = torch.empty_like(x)
        count = x.numel()
        if count:
            grid = (triton.cdiv(count, 1024),)
            bias_gelu_residual[grid](out, x, self.bias, residual, count, x.shape[-1], BLOCK=1024, num_warps=4)
        return out
