# problem: softmax
# target: both
# kind: honest
# mechanism: a Triton kernel
# timed: yes
# expect: correct
# absent: no_custom_kernel
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, columns, N: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * columns + column, mask=column < columns, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + column, e / tl.sum(e, axis=0), mask=column < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        kernel[(x.shape[0],)](x, out, x.shape[1], N=triton.next_power_of_2(x.shape[1]))
        return out
