# problem: row_cumsum
# mechanism: a row of 4096 in the registers of eight warps, scanned there
import torch
import triton
import triton.language as tl


@triton.jit
def running(out, x, columns, BLOCK: tl.constexpr):
    start, at = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    values = tl.load(x + start + at, at < columns, 0.0)
    tl.store(out + start + at, tl.cumsum(values), at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        running[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns), num_warps=8)
        return out
