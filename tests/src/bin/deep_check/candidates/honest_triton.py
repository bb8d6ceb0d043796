import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (2, 4)], key=["n"])
@triton.jit
def center(x, out, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=0.0)
    tl.store(out + row * n + column, value - tl.sum(value) / n, mask=column < n)


def kernel(x):
    out = torch.empty_like(x)
    center[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
