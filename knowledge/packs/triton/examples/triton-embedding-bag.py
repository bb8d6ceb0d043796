# +++
# title = "Embedding bag sums in Triton: gathered rows as a 2-D block, many loads in flight"
# bottleneck = "memory_bandwidth"
# problem = "problems/embedding_bag.py"
# sources = ["https://docs.pytorch.org/docs/stable/generated/torch.nn.EmbeddingBag.html"]
# tags = ["embedding", "reduction"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: BAGS, PER_BAG, ENTRIES, DIM = 100, 19, 1000, 72; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: bag_sums 47 registers, no spills, 2,048 B shared memory; H200, torch 2.11, Triton 3.6: 70.5 us a call, 0.97x (0.96 to 0.97) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: bag_sums 24 registers, no spills, 2,048 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: bag_sums 24 registers, no spills, 2,048 B LDS" },
# ]
# +++
"""Sum of embedding rows per bag, without the gathered tensor: eager torch writes BAGS x PER_BAG x DIM values and reads them again.

- One program sums one bag of one block of the dimension; indices are loaded as a block and the rows as a 2-D block of gathered lines:
  addresses are `index * dim + column`, one contiguous run of DIM values per index.
- Gathered rows are random lines: a row of 128 floats is 512 bytes, four full 128-byte lines, so no traffic is wasted. Rows shorter than a
  line would waste the rest of it.
- Memory latency is the limit: the 2-D load has ROWS independent lines in flight per program. Loading row by row in a loop has one.
- `index.to(int64)` before the multiplication: 200,000 x 128 still fits, a table of 20 million rows does not.
- Indices out of range read foreign memory: torch raises, a kernel does not. The caller's contract.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bag_sums(out_ptr, indices_ptr, table_ptr, per_bag, dim, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    lines = tl.arange(0, ROWS)
    acc = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, per_bag, ROWS):
        inside = start + lines < per_bag
        index = tl.load(indices_ptr + bag * per_bag + start + lines, mask=inside, other=0).to(tl.int64)
        mask = inside[:, None] & (columns[None, :] < dim)
        acc += tl.load(table_ptr + index[:, None] * dim + columns[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + bag * dim + columns, tl.sum(acc, axis=0), mask=columns < dim)


class ModelNew(nn.Module):
    def forward(self, indices: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        indices, table = indices.contiguous(), table.contiguous()
        (bags, per_bag), dim = indices.shape, table.shape[1]
        out = torch.empty((bags, dim), device=table.device, dtype=table.dtype)
        if out.numel():
            block = min(128, triton.next_power_of_2(dim))
            bag_sums[(bags, triton.cdiv(dim, block))](out, indices, table, per_bag, dim, ROWS=16, BLOCK=block, num_warps=4)
        return out
