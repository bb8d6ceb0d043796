# problem: windowed
# first: host_bound
# mechanism: the window is computed in Python and uploaded in every call
# why: the kernel runs for a twentieth of the time that the window takes
import math

import torch
import triton
import triton.language as tl


@triton.jit
def weigh(out, x, window, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, at < columns) * tl.load(window + at, at < columns)
    tl.store(out + row * columns + at, value, at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        window = [0.5 - 0.5 * math.cos(2 * math.pi * i / columns) for i in range(columns)]
        out = torch.empty_like(x)
        weigh[(rows, triton.cdiv(columns, 2048))](out, x, torch.tensor(window, device=x.device), columns, BLOCK=2048, num_warps=8)
        return out
