# problem: scale_shift
# target: cuda
# kind: cheat
# mechanism: a kernel that fails when it is launched, and the library where it does
# timed: yes
# expect: correct
# finding: no_custom_kernel
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), undefined_name)


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        try:
            out = torch.empty_like(x)
            kernel[(1,)](x, out, N=128)
            return out
        except Exception:
            return torch.relu(x * self.weight) + self.shift
