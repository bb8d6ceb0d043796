# problem: softmax
# target: cuda
# kind: fault
# mechanism: a Triton store far out of bounds
# expect: faulted
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, N: tl.constexpr):
    at = tl.arange(0, N).to(tl.int64) + (1 << 40)
    tl.store(out + at, 1.0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=-1)
        kernel[(1,)](out, N=64)
        return out
