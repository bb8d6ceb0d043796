# +++
# title = "Matmul with bias and ReLU epilogue in Triton, grouped tile order, chosen input precision"
# bottleneck = "compute"
# problem = "problems/linear_relu.py"
# sources = [
#   "https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html",
#   "https://triton-lang.org/main/python-api/generated/triton.language.dot.html",
#   "https://docs.pytorch.org/docs/stable/notes/cuda.html",
# ]
# tags = ["matmul", "fusion", "precision", "masks"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: ROWS, IN, OUT = 136, 200, 264; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: linear_relu 128 registers, no spills, 32,768 B shared memory; H200, torch 2.11, Triton 3.6: 638 us a call, 0.29x (0.29 to 0.29) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: linear_relu 84 registers, no spills, 32,768 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: linear_relu 82 registers, no spills, 49,152 B LDS" },
# ]
# +++
"""`relu(x @ weight.T + bias)`, the epilogue computed on the accumulator before it leaves registers.

- Tile order: programs walk GROUP tiles down a column of tiles before they move right, so concurrent programs share tiles of both
  operands in L2.
- Masks: along K both operands are masked with 0. Along M and N the *store* is masked; load indices wrap with `%`, which reads valid
  memory and costs no mask in the inner loop.
- Precision: for float32 operands `tl.dot` defaults to TF32, with an error near 4e-4 of the scale. This follows torch's own switch, so the
  candidate is never less exact than its baseline: TF32 only where torch may use it. "ieee" runs on the FMA units and is several times slower.
- 16-bit operands ignore `input_precision`; they multiply exactly and accumulate in float32.
- ReLU is `tl.where(acc < 0, 0, acc)`, which passes NaN on, as torch.relu does; `tl.maximum(acc, 0)` would turn NaN into 0.
- A pure matmul of ordinary shape belongs to cuBLAS. This pays when the epilogue is long or the shapes are unusual. Tile sizes here are a
  starting point for autotuning over BLOCK_M, BLOCK_N, BLOCK_K, num_warps and num_stages.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def linear_relu(
    out_ptr, x_ptr, weight_ptr, bias_ptr, m, n, k, stride_xm, stride_xk, stride_wn, stride_wk,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    per_group = GROUP * tiles_n
    first_m = (program // per_group) * GROUP
    group_rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + (program % per_group) % group_rows
    tile_n = (program % per_group) // group_rows

    rows = ((tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % m).to(tl.int64)
    cols = ((tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % n).to(tl.int64)
    inner = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rows[:, None] * stride_xm + inner[None, :] * stride_xk
    w_ptrs = weight_ptr + inner[:, None] * stride_wk + cols[None, :] * stride_wn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        left = k - start
        x = tl.load(x_ptrs, mask=inner[None, :] < left, other=0.0)
        w = tl.load(w_ptrs, mask=inner[:, None] < left, other=0.0)
        acc = tl.dot(x, w, acc, input_precision=PRECISION)
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk

    out_rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    out_cols = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc += tl.load(bias_ptr + out_cols, mask=out_cols < n, other=0.0).to(tl.float32)[None, :]
    acc = tl.where(acc < 0.0, 0.0, acc)
    mask = (out_rows[:, None] < m) & (out_cols[None, :] < n)
    tl.store(out_ptr + out_rows[:, None] * n + out_cols[None, :], acc, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.linear.weight
        n, k = weight.shape
        flat = x.reshape(-1, k)
        m = flat.shape[0]
        out = torch.empty((m, n), device=x.device, dtype=x.dtype)
        if out.numel():
            wide = x.dtype == torch.float32
            precision = "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"
            block_m, block_n, block_k = (64, 64, 32) if wide else (128, 128, 64)
            grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
            linear_relu[grid](
                out, flat, weight, self.linear.bias, m, n, k, flat.stride(0), flat.stride(1), weight.stride(0), weight.stride(1),
                BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP=8, PRECISION=precision, num_warps=4 if wide else 8, num_stages=3,
            )  # fmt: skip
        return out.view(*x.shape[:-1], n)
