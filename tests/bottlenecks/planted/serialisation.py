# problem: total
# first: serialisation
# mechanism: one block walks over the whole vector
# why: one of 132 multiprocessors works
import torch
import triton
import triton.language as tl


@triton.jit
def total(out, x, n, BLOCK: tl.constexpr):
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x + at, at < n, 0.0)
    tl.store(out, tl.sum(sums))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty((), device=x.device)
        total[(1,)](out, x, x.numel(), BLOCK=4096, num_warps=16)
        return out
