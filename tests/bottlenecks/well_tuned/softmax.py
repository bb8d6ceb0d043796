# problem: row_softmax
# mechanism: a row of 8192 in the registers of eight warps, read once and written once
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    start, at = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    values = tl.load(x + start + at, at < columns, -float("inf"))
    values = tl.exp(values - tl.max(values))
    tl.store(out + start + at, values / tl.sum(values), at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        softmax[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns), num_warps=8)
        return out
