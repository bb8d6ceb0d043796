# +++
# title = "Rotary position embedding of queries and keys in one Triton launch"
# bottleneck = "memory_bandwidth"
# problem = "problems/rotary.py"
# sources = ["https://arxiv.org/abs/2104.09864"]
# tags = ["embedding", "fusion"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: BATCH, HEADS, LENGTH, DIM = 2, 3, 100, 64; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: rotary 53 registers, no spills, 0 B shared memory; H200, torch 2.11, Triton 3.6: 138 us a call, 0.95x (0.94 to 0.96) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: rotary 26 registers, no spills, 0 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: rotary 26 registers, no spills, 0 B LDS" },
# ]
# +++
"""Rotary embedding of queries and keys in one launch: one read and one write of both, no `cat`, no negated copies.

- A program rotates one block of positions of one head: cosines and sines of those positions are loaded once per program and used for the
  query and the key. They are shared by all batches and heads and stay in L2.
- Both halves of a head's dimension are loaded by the same program, because each output half needs both. As two 2-D loads of
  POSITIONS x HALF they are contiguous runs of HALF values; HALF = 64 floats are 256 bytes.
- Interleaved layouts (even and odd elements as pairs) need stride-2 access: load the whole row and use `tl.split(tl.reshape(...))`, or
  permute the projection weights once so that the halves form is what the model computes.
- The angle tables are float32; with half precision inputs compute in float32 and round once at the store.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rotate_block(out_ptr, in_ptr, offsets, mask, cos, sin, HALF: tl.constexpr):
    real = tl.load(in_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    imaginary = tl.load(in_ptr + offsets + HALF, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, real * cos - imaginary * sin, mask=mask)
    tl.store(out_ptr + offsets + HALF, imaginary * cos + real * sin, mask=mask)


@triton.jit
def rotary(q_out, k_out, q_ptr, k_ptr, cos_ptr, sin_ptr, length, HALF: tl.constexpr, POSITIONS: tl.constexpr):
    positions = tl.program_id(0) * POSITIONS + tl.arange(0, POSITIONS)
    lanes = tl.arange(0, HALF)
    mask = (positions[:, None] < length) & (lanes[None, :] < HALF)
    angles = positions[:, None] * HALF + lanes[None, :]
    cos = tl.load(cos_ptr + angles, mask=mask, other=0.0)
    sin = tl.load(sin_ptr + angles, mask=mask, other=0.0)
    head = tl.program_id(1).to(tl.int64) * length * (2 * HALF)
    offsets = head + positions[:, None] * (2 * HALF) + lanes[None, :]
    rotate_block(q_out, q_ptr, offsets, mask, cos, sin, HALF)
    rotate_block(k_out, k_ptr, offsets, mask, cos, sin, HALF)


class ModelNew(nn.Module):
    def __init__(self, dim: int, length: int, base: float = 10000.0):
        super().__init__()
        frequencies = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(length).float(), frequencies)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch, heads, length, dim = q.shape
        if dim & (dim - 1) or k.shape != q.shape:
            raise ValueError("queries and keys must have one shape, with a power of two as the head dimension")
        q, k = q.contiguous(), k.contiguous()
        q_out, k_out = torch.empty_like(q), torch.empty_like(k)
        if q.numel():
            positions = max(1, 2048 // dim)
            rotary[(triton.cdiv(length, positions), batch * heads)](
                q_out, k_out, q, k, self.cos, self.sin, length, HALF=dim // 2, POSITIONS=positions, num_warps=4
            )
        return q_out, k_out
