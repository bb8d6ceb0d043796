# problem: class_totals
# first: atomic_contention
# mechanism: every value is added to its class in device memory
# why: four million additions queue at sixteen addresses of one cache line
import torch
import triton
import triton.language as tl


@triton.jit
def totals(out, values, classes, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(out + tl.load(classes + at, inside), tl.load(values + at, inside), inside, sem="relaxed")


class ModelNew(torch.nn.Module):
    def forward(self, values, classes):
        out = torch.zeros(16, device=values.device)
        totals[(triton.cdiv(values.numel(), 1024),)](out, values, classes, values.numel(), BLOCK=1024, num_warps=8)
        return out
