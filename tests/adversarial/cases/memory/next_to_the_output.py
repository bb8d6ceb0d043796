# problem: scale_shift
# target: cuda
# kind: fault
# mechanism: the right result, and writes past the end of the output, inside the same block of the allocator
# expect: faulted | incorrect
# why: behind the output lies what the allocator keeps, or an input
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, s, out, N: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + column) * tl.load(w + column)
    tl.store(out + row * N + column, tl.where(v != v, v, tl.maximum(v, 0.0)) + tl.load(s + column))
    tl.store(out + tl.num_programs(0) * N + tl.arange(0, 16), 1.0)


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(x.shape[0],)](x, self.weight, self.shift, out, N=x.shape[1])
        return out
