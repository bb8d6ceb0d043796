# +++
# title = "int8 matmul in Triton with int32 sums and row and column scales"
# bottleneck = "compute"
# problem = "problems/int8_matmul.py"
# sources = ["https://triton-lang.org/main/python-api/generated/triton.language.dot.html"]
# tags = ["matmul", "quantisation", "precision"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: M, N, K = 136, 264, 264; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: int8_linear 125 registers, no spills, 98,304 B shared memory; H200, torch 2.11, Triton 3.6: 59.9 us a call, 1.48x (1.47 to 1.48) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: int8_linear 112 registers, no spills, 32,768 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: int8_linear 90 registers, no spills, 66,528 B LDS" },
# ]
# +++
"""Product of int8 activations and int8 weights with per-row and per-column scales applied to the int32 accumulator.

- `tl.dot` of int8 operands accumulates in int32 exactly; the accumulator must be created as int32, and Triton 3.6 wants `out_dtype` to say so.
  K up to 133,000 cannot overflow (127 * 127 * K < 2^31).
- Scales of rows and columns factor out of the sum: they are applied once, in float32, behind the loop. Scales that change *along K* (block
  scales) do not: they need a float32 accumulator and a multiplication per K block.
- The weight is stored N x K, as a linear layer stores it: both operands are then contiguous along K, 16 values a 16-byte load.
- The smallest K block for 8-bit operands is 32; 64 to 128 fill the tensor cores.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def int8_linear(
    out_ptr, x_ptr, weight_ptr, x_scale_ptr, weight_scale_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    tiles_m = tl.cdiv(m, BLOCK_M)
    per_group = GROUP * tl.cdiv(n, BLOCK_N)
    first_m = (program // per_group) * GROUP
    group_rows = min(tiles_m - first_m, GROUP)
    rows = (first_m + (program % per_group) % group_rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = ((program % per_group) // group_rows) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (rows % m)[:, None].to(tl.int64) * k + inner[None, :]
    w_ptrs = weight_ptr + (cols % n)[None, :].to(tl.int64) * k + inner[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(0, k, BLOCK_K):
        left = k - start
        x = tl.load(x_ptrs, mask=inner[None, :] < left, other=0)
        w = tl.load(w_ptrs, mask=inner[:, None] < left, other=0)
        acc = tl.dot(x, w, acc, out_dtype=tl.int32)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    x_scale = tl.load(x_scale_ptr + rows, mask=rows < m, other=0.0)
    weight_scale = tl.load(weight_scale_ptr + cols, mask=cols < n, other=0.0)
    out = acc.to(tl.float32) * x_scale[:, None] * weight_scale[None, :]
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(out_ptr + rows[:, None].to(tl.int64) * n + cols[None, :], out, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor, weight_scale: torch.Tensor) -> torch.Tensor:
        x, weight = x.contiguous(), weight.contiguous()
        (m, k), n = x.shape, weight.shape[0]
        out = torch.empty((m, n), device=x.device, dtype=torch.float32)
        if out.numel():
            block_m, block_n = 128, 128
            int8_linear[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
                out, x, weight, x_scale, weight_scale, m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=128, GROUP=8, num_warps=8,
                num_stages=2 if torch.version.hip else 3,
            )  # fmt: skip
        return out
