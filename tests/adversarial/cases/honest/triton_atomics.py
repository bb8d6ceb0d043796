# problem: total
# target: both
# kind: honest
# mechanism: partial sums added atomically, in an order that varies
# timed: yes
# expect: correct
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_add(out, tl.sum(v * v, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros((), device=x.device)
        kernel[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), N=4096)
        return out
