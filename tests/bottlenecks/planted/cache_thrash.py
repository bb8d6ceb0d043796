# problem: mixed_slices
# first: cache_thrash
# mechanism: all of one result is computed before the next, and each needs all eight slices of 32 MiB
# why: the slices do not fit the second-level cache, so that each is fetched eight times
import torch
import triton
import triton.language as tl


@triton.jit
def mix(out, x, weights, n, SLICES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    result = tl.program_id(1)
    total = tl.zeros((BLOCK,), tl.float32)
    for other in tl.static_range(SLICES):
        total += tl.load(weights + result * SLICES + other) * tl.load(x + other * n + at, at < n)
    tl.store(out + result * n + at, total, at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x, weights):
        out = torch.empty_like(x)
        slices, n = x.shape
        mix[(triton.cdiv(n, 1024), slices)](out, x, weights, n, SLICES=slices, BLOCK=1024, num_warps=8)
        return out
