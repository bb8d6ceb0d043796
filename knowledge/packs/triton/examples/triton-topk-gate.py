# +++
# title = "Mixture-of-experts gate in Triton: top-k by repeated maximum, softmax of the chosen only"
# bottleneck = "latency"
# problem = "problems/topk_gate.py"
# sources = ["https://docs.pytorch.org/docs/stable/generated/torch.topk.html"]
# tags = ["sorting", "softmax", "reduction"]
# evidence = [
#   { target = "cpu", status = "correct", text = "through the interpreter (Triton 3.9), a smaller copy of the problem: TOKENS, EXPERTS, CHOSEN = 100, 60, 6; values only, no time" },
#   { target = "sm_90", status = "correct", text = "Triton 3.9: choose 63 registers, no spills, 512 B shared memory; H200, torch 2.11, Triton 3.6: 59.6 us a call, 7.71x (6.99 to 7.93) against the faster of eager and torch.compile" },
#   { target = "gfx942", status = "compiled", text = "Triton 3.9: choose 67 registers, no spills, 512 B LDS" },
#   { target = "gfx950", status = "compiled", text = "Triton 3.9: choose 70 registers, no spills, 512 B LDS" },
# ]
# +++
"""The largest few logits of a row and the softmax over them in one kernel: mixture-of-experts routing with at most a few hundred experts.

- A program holds ROWS x EXPERTS logits. The chosen values are found by repeating "maximum, then strike it out": CHOSEN reductions within a
  warp, far cheaper than a sort for CHOSEN up to about 16. `tl.topk` exists in newer versions, but gives values without indices.
- Softmax over all experts, then top-k, then renormalising gives the same weights: the common denominator cancels. Only the chosen are needed.
- Several rows a program: 128 experts are only 2 values per thread of a warp or two; ROWS = 16 amortises the reductions.
- The index of a maximum is the smallest column that has the value, so ties come in rising order. torch.topk promises no order on ties.
- torch counts NaN as the largest value. `tl.max` may drop it, so the search works on keys: NaN becomes +inf, +inf the largest float. The
  weights are computed from the logits themselves, so a NaN makes its row's weights NaN as in torch.
- Struck and masked columns hold -inf. A logit of -inf that is chosen would give the index of a struck column again: such rows are outside
  what this kernel promises.
- Results are collected in a ROWS x SLOTS block with `tl.where` on the slot number: a block cannot be indexed. SLOTS is CHOSEN rounded up to a
  power of two.
"""

import torch
import triton
import triton.language as tl
from torch import nn

LARGEST = tl.constexpr(3.4028234663852886e38)


@triton.jit
def choose(weights_ptr, indices_ptr, logits_ptr, tokens, experts, CHOSEN: tl.constexpr, SLOTS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    slots = tl.arange(0, SLOTS)
    mask = (rows[:, None] < tokens) & (columns[None, :] < experts)
    logits = tl.load(logits_ptr + rows[:, None].to(tl.int64) * experts + columns[None, :], mask=mask, other=-float("inf")).to(tl.float32)
    left = tl.where(logits != logits, float("inf"), tl.where(logits == float("inf"), LARGEST, logits))
    values = tl.full((ROWS, SLOTS), -float("inf"), tl.float32)
    indices = tl.zeros((ROWS, SLOTS), tl.int32)
    for slot in tl.static_range(CHOSEN):
        top = tl.max(left, axis=1)
        at = tl.min(tl.where(left == top[:, None], columns[None, :], BLOCK), axis=1)
        picked = tl.sum(tl.where(columns[None, :] == at[:, None], logits, 0.0), axis=1)
        values = tl.where(slots[None, :] == slot, picked[:, None], values)
        indices = tl.where(slots[None, :] == slot, at[:, None], indices)
        left = tl.where(columns[None, :] == at[:, None], -float("inf"), left)
    powers = tl.exp(values - tl.max(values, axis=1)[:, None])
    weights = powers / tl.sum(powers, axis=1)[:, None]
    target = rows[:, None].to(tl.int64) * CHOSEN + slots[None, :]
    store = (rows[:, None] < tokens) & (slots[None, :] < CHOSEN)
    tl.store(weights_ptr + target, weights, mask=store)
    tl.store(indices_ptr + target, indices.to(tl.int64), mask=store)


class ModelNew(nn.Module):
    def __init__(self, chosen: int):
        super().__init__()
        self.chosen = chosen

    def forward(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = logits.contiguous()
        tokens, experts = logits.shape
        weights = torch.empty((tokens, self.chosen), device=logits.device, dtype=logits.dtype)
        indices = torch.empty((tokens, self.chosen), device=logits.device, dtype=torch.int64)
        if tokens:
            rows = 16
            choose[(triton.cdiv(tokens, rows),)](
                weights, indices, logits, tokens, experts, CHOSEN=self.chosen, SLOTS=triton.next_power_of_2(self.chosen), ROWS=rows,
                BLOCK=triton.next_power_of_2(experts), num_warps=4,
            )  # fmt: skip
        return weights, indices
