# +++
# title = "Causal depthwise 1-D convolution with SiLU in Triton: shifted loads, unrolled taps"
# bottleneck = "memory_bandwidth"
# problem = "problems/depthwise_conv1d.py"
# sources = ["https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html", "https://arxiv.org/abs/2312.00752"]
# tags = ["convolution", "fusion", "masks"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: BATCH, CHANNELS, LENGTH, TAPS = 2, 24, 1100, 4; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: causal_taps 32 registers, no spills, 0 B shared memory; H200, torch 2.11, Triton 3.6: 76.0 us a call, 5.48x (5.42 to 5.52) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: causal_taps 27 registers, no spills, 0 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: causal_taps 27 registers, no spills, 0 B LDS" },
# ]
# +++
"""Causal depthwise convolution with SiLU: each output needs TAPS neighbours of its own channel, so the kernel is a memory-bound stencil.

- One program computes BLOCK consecutive outputs of one channel. It loads the block TAPS times, shifted by one: the shifted loads hit L1, so
  device memory is read once. Triton cannot shift a block that is in registers; shared memory would buy nothing over L1 here.
- Shifted loads start at addresses that are not multiples of 16 bytes, so they are not vectorised; with four taps that is still far below the
  memory time. For long filters (32 taps and more) use a product with a Toeplitz tile instead.
- The left edge is a mask (`positions >= 0`), no padded copy of the input. torch pads both sides and cuts the right end off.
- `static_range` unrolls the taps: their weights become scalars in registers, and the loop has no branch.
- SiLU, bias and convolution in one pass: 2 transfers of the tensor; eager torch makes 5 (convolution 2, cut + SiLU 3).
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def causal_taps(out_ptr, in_ptr, weight_ptr, bias_ptr, channels, length, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    line = tl.program_id(1).to(tl.int64)
    channel = line % channels
    positions = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32) + tl.load(bias_ptr + channel).to(tl.float32)
    for tap in tl.static_range(TAPS):
        source = positions - (TAPS - 1 - tap)
        x = tl.load(in_ptr + line * length + source, mask=(source >= 0) & (source < length), other=0.0).to(tl.float32)
        acc += x * tl.load(weight_ptr + channel * TAPS + tap).to(tl.float32)
    tl.store(out_ptr + line * length + positions, acc * tl.sigmoid(acc), mask=positions < length)


class ModelNew(nn.Module):
    def __init__(self, channels: int, taps: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, taps, groups=channels, padding=taps - 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, length = x.shape
        x = x.contiguous()
        out = torch.empty_like(x)
        if out.numel():
            block = min(1024, triton.next_power_of_2(length))
            lines = batch * channels
            if lines > 65535:
                raise ValueError("the second grid axis holds at most 65,535 programs: put the lines on the first")
            causal_taps[(triton.cdiv(length, block), lines)](
                out, x, self.conv.weight, self.conv.bias, channels, length, TAPS=self.conv.weight.shape[-1], BLOCK=block, num_warps=4
            )
        return out
