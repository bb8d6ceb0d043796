# +++
# title = "Group norm with SiLU in Triton: group in registers, two sweeps for long groups"
# bottleneck = "memory_bandwidth"
# problem = "problems/group_norm.py"
# sources = [
#   "https://arxiv.org/abs/1803.08494",
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html",
# ]
# tags = ["reduction", "fusion", "layernorm"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: BATCH, CHANNELS, SIDE, GROUPS = 2, 24, 20, 6; values only, no time" },
#   { target = "cpu", status = "correct", text = "through the interpreter, the kernel for long groups: BATCH, CHANNELS, SIDE, GROUPS = 1, 12, 80, 2" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: group_norm_short 64 registers, 248 spilled, 128 B shared memory; H200, torch 2.11, Triton 3.6: 79.5 us a call, 0.70x (0.69 to 0.71) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: group_norm_short 74 registers, no spills, 64 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: group_norm_short 74 registers, no spills, 64 B LDS" },
# ]
# +++
"""Group norm with SiLU: the channels of a group are contiguous in memory, so a group is one row of (channels / groups) * height * width values.

- A group that fits in registers (up to 32,768 values) is read once. 8 channels of 64 x 64 are 32,768 values: 32 warps hold 32 each.
- Longer groups take the second kernel: two sweeps, the second served from L2 if the group is not too long. Sums are taken in a pass of
  shifted values: the shift is the group's first value, which keeps `mean(x^2) - mean^2` from cancelling when the mean is large.
- Weight and bias belong to channels: `position // spatial` is the channel inside the group. They are two loads that hit L1; for a power of two
  the division is a shift only if `spatial` is a constexpr.
- SiLU is applied before the store: eager torch writes the normed tensor and reads it again.
"""

import torch
import triton
import triton.language as tl
from torch import nn

SHORT_GROUP = 32768
#: 1024 threads: 32 warps of 32 lanes on NVIDIA, 16 of 64 on AMD.
MOST_WARPS = 16 if torch.version.hip else 32


@triton.jit
def finish(x, mean, scale, channels, weight_ptr, bias_ptr, mask):
    weight = tl.load(weight_ptr + channels, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + channels, mask=mask, other=0.0).to(tl.float32)
    y = (x - mean) * scale * weight + bias
    return y * tl.sigmoid(y)


@triton.jit
def group_norm_short(out_ptr, in_ptr, weight_ptr, bias_ptr, groups, size, eps, SPATIAL: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    base = program.to(tl.int64) * size
    offsets = tl.arange(0, BLOCK)
    mask = offsets < size
    x = tl.load(in_ptr + base + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / size
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / size + eps)
    channels = (program % groups) * (size // SPATIAL) + offsets // SPATIAL
    tl.store(out_ptr + base + offsets, finish(x, mean, scale, channels, weight_ptr, bias_ptr, mask), mask=mask)


@triton.jit
def group_norm_long(out_ptr, in_ptr, weight_ptr, bias_ptr, groups, size, eps, SPATIAL: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    base = program.to(tl.int64) * size
    lanes = tl.arange(0, BLOCK)
    shift = tl.load(in_ptr + base).to(tl.float32)
    sums = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, size, BLOCK):
        offsets = start + lanes
        mask = offsets < size
        x = tl.load(in_ptr + base + offsets, mask=mask, other=0.0, eviction_policy="evict_last").to(tl.float32)
        moved = tl.where(mask, x - shift, 0.0)
        sums += moved
        squares += moved * moved
    moved_mean = tl.sum(sums, axis=0) / size
    scale = tl.rsqrt(tl.sum(squares, axis=0) / size - moved_mean * moved_mean + eps)
    first_channel = (program % groups) * (size // SPATIAL)
    for start in range(0, size, BLOCK):
        offsets = start + lanes
        mask = offsets < size
        x = tl.load(in_ptr + base + offsets, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        y = finish(x, shift + moved_mean, scale, first_channel + offsets // SPATIAL, weight_ptr, bias_ptr, mask)
        tl.store(out_ptr + base + offsets, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels = x.shape[:2]
        spatial = x[0, 0].numel() if x.numel() else 0
        out = torch.empty_like(x)
        if out.numel():
            groups = self.norm.num_groups
            size = channels // groups * spatial
            arguments = (out, x, self.norm.weight, self.norm.bias, groups, size, self.norm.eps, spatial)
            if size <= SHORT_GROUP:
                block = triton.next_power_of_2(size)
                group_norm_short[(batch * groups,)](*arguments, BLOCK=block, num_warps=min(MOST_WARPS, max(1, block // 1024)))
            else:
                group_norm_long[(batch * groups,)](*arguments, BLOCK=4096, num_warps=8)
        return out
