# problem: embedding
# mechanism: a block for each row of 16 KiB
import torch
import triton
import triton.language as tl


@triton.jit
def gather(out, table, numbers, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = at < columns
    tl.store(out + row * columns + at, tl.load(table + tl.load(numbers + row) * columns + at, inside), inside)


class ModelNew(torch.nn.Module):
    def forward(self, table, numbers):
        columns = table.shape[1]
        out = torch.empty(numbers.numel(), columns, device=table.device)
        gather[(numbers.numel(),)](out, table, numbers, columns, BLOCK=triton.next_power_of_2(columns), num_warps=8)
        return out
