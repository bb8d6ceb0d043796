import torch
import triton
import triton.language as tl


@triton.jit
def affine(x, out, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # One element too many.
    value = tl.load(x + place, mask=place < n, other=0.0)
    tl.store(out + place, value * 2 + 1, mask=place <= n)


def kernel(x):
    out = torch.empty_like(x)
    affine[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
