import torch
import triton
import triton.language as tl


@triton.jit
def softmax_rows(y_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0)) * VARIANT.0
    tl.store(y_ptr + row * columns + at, e / tl.sum(e, axis=0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        softmax_rows[(x.shape[0],)](y, x, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=16)
        return y
