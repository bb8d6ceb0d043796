# problem: scale_shift
# target: both
# kind: honest
# mechanism: a Triton kernel that is autotuned at its first call
# timed: yes
# expect: correct
# absent: no_custom_kernel
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (256, 1024) for w in (2, 4)], key=["n"])
@triton.jit
def kernel(x, w, s, out, n, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside) * tl.load(w + at % columns, mask=inside)
    v = tl.where(v != v, v, tl.maximum(v, 0.0))
    tl.store(out + at, v + tl.load(s + at % columns, mask=inside), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, self.weight, self.shift, out, x.numel(), x.shape[-1])
        return out
