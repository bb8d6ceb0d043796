# problem: projection
# first: tail_effect
# mechanism: 144 tiles of 128 by 256 on 132 multiprocessors, of which each holds one
# why: the last twelve tiles take as long as the 132 before them
import torch
import triton
import triton.language as tl


@triton.jit
def product(out, a, b, m, n, k, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    columns = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    a_at = a + rows[:, None] * k + inner[None, :]
    b_at = b + inner[:, None] * n + columns[None, :]
    sums = tl.zeros((TILE_M, TILE_N), tl.float32)
    for _ in range(0, k, TILE_K):
        sums = tl.dot(tl.load(a_at), tl.load(b_at), sums)
        a_at += TILE_K
        b_at += TILE_K * n
    tl.store(out + rows[:, None] * n + columns[None, :], sums.to(tl.bfloat16))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        out = torch.empty(m, n, device=a.device, dtype=a.dtype)
        product[(m // 128, n // 256)](out, a, b, m, n, k, TILE_M=128, TILE_N=256, TILE_K=64, num_warps=8, num_stages=4)
        return out
