# problem: bias_gelu
# mechanism: bias and activation in one kernel, sixteen bytes a thread and access
import torch
import triton
import triton.language as tl


@triton.jit
def bias_gelu(out, x, bias, columns, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    start, inside = tl.program_id(0).to(tl.int64) * columns, at < columns
    value = tl.load(x + start + at, inside) + tl.load(bias + at, inside)
    inner = 1.5957691216057308 * (value + 0.044715 * value * value * value)
    tl.store(out + start + at, value * tl.sigmoid(inner), inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, bias):
        rows, columns = x.shape
        out = torch.empty_like(x)
        bias_gelu[(rows, triton.cdiv(columns, 2048))](out, x, bias, columns, BLOCK=2048, num_warps=8)
        return out
