# problem: layer_norm
# mechanism: a row of 4096 in the registers of four warps, mean and variance of what was read once
import torch
import triton
import triton.language as tl


@triton.jit
def norm(out, x, weight, bias, columns, eps, BLOCK: tl.constexpr):
    start, at = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + start + at, inside, 0.0).to(tl.float32)
    values = tl.where(inside, values - tl.sum(values) / columns, 0.0)
    values *= tl.rsqrt(tl.sum(values * values) / columns + eps)
    values = values * tl.load(weight + at, inside).to(tl.float32) + tl.load(bias + at, inside).to(tl.float32)
    tl.store(out + start + at, values.to(tl.bfloat16), inside)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width, dtype=torch.bfloat16)

    def forward(self, x):
        rows, columns = x.shape
        out, own = torch.empty_like(x), self.norm
        norm[(rows,)](out, x, own.weight, own.bias, columns, own.eps, BLOCK=triton.next_power_of_2(columns), num_warps=4)
        return out
