# +++
# title = "Matmul in Triton with program ids renumbered over the eight XCDs of an MI300X"
# languages = ["triton"]
# architectures = ["gfx942", "gfx950"]
# bottleneck = "compute"
# problem = "problems/matmul_square.py"
# sources = [
#   "https://arxiv.org/abs/2511.02132",
#   "https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html",
#   "https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html",
# ]
# tags = ["matmul", "xcd", "cache"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: N = 328; values only, no time" },
#   { target = "sm_90", status = "compiled", text = "Triton 3.9: product 116 registers, no spills, 98,304 B shared memory" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: product 128 registers, no spills, 32,768 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: product 92 registers, no spills, 67,520 B LDS" },
# ]
# +++
"""Half precision product for GPUs of several compute dies (MI300X: 8 XCDs with 4 MB of L2 each): tile order that respects which die runs what.

The hardware hands workgroups to the XCDs in turn: program p runs on XCD p % 8. In the usual grouped order, neighbouring programs that are meant
to share operands sit on eight different dies, and each die fetches the same tiles into its own L2. Renumbering gives each die one contiguous
run of tiles; the grouped order inside it is as usual.

- The renumbering is a bijection also when the number of programs is not a multiple of XCDS: the first `programs % XCDS` dies get one more.
- XCDS is 1 elsewhere, which makes the renumbering the identity: the same kernel serves GPUs with one L2.
- AMD options: `matrix_instr_nonkdim=16` selects 16 x 16 MFMA (usually faster than 32 x 32 for fp16 on gfx942), `waves_per_eu=2` asks the
  compiler to keep registers low enough for two waves a SIMD. They are unknown keywords to the NVIDIA back end, so they are passed only on ROCm.
- num_stages: 2 on AMD: the loads of the next K block run during this one's MFMA. On gfx942 they wait in registers (32 KB of LDS for 128 x 128 x 64
  in fp16; 3 stages take all 64 KB), on gfx950 in LDS (67 KB of 160).
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def product(
    out_ptr, a_ptr, b_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, XCDS: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    programs = tiles_m * tiles_n
    hardware = tl.program_id(0)
    die = hardware % XCDS
    longer = programs % XCDS
    program = die * (programs // XCDS) + min(die, longer) + hardware // XCDS

    per_group = GROUP * tiles_n
    first_m = (program // per_group) * GROUP
    group_rows = min(tiles_m - first_m, GROUP)
    rows = (first_m + (program % per_group) % group_rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = ((program % per_group) // group_rows) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % m)[:, None].to(tl.int64) * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (cols % n)[None, :].to(tl.int64) * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        left = k - start
        a = tl.load(a_ptrs, mask=inner[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(out_ptr + rows[:, None].to(tl.int64) * n + cols[None, :], acc, mask=mask)


def dies(device: torch.device) -> int:
    """XCDs of the part in its default partition: 8 for MI300X, MI325X, MI350X and MI355X (6 for MI300A, which has 228 compute units)."""
    if not torch.version.hip or device.type != "cuda":
        return 1
    properties = torch.cuda.get_device_properties(device)
    if properties.gcnArchName.split(":")[0] not in ("gfx942", "gfx950"):
        return 1
    return 6 if properties.multi_processor_count == 228 else 8


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[1]
        out = torch.empty((m, n), device=a.device, dtype=a.dtype)
        if out.numel():
            block_m, block_n = 128, 128
            amd = {"matrix_instr_nonkdim": 16, "waves_per_eu": 2} if torch.version.hip else {}
            product[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
                out, a, b, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=64,
                GROUP=4, XCDS=dies(a.device), num_warps=8, num_stages=2 if torch.version.hip else 3, **amd,
            )  # fmt: skip
        return out
