# problem: gated_steps
# first: launch_overhead
# mechanism: a kernel for each of twelve steps of a state of 128 KiB
# why: a step's kernel runs for two or three microseconds, less than its launch takes
import torch
import triton
import triton.language as tl


@triton.jit
def step(state, x, gate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, inside)
    value = 2 * tl.sigmoid(2 * value) - 1
    kept = tl.sigmoid(tl.load(gate + at, inside)) * tl.load(state + at, inside)
    tl.store(state + at, kept + value, inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, gate):
        state = torch.zeros_like(gate)
        for value in x:
            step[(triton.cdiv(gate.numel(), 256),)](state, value, gate, gate.numel(), BLOCK=256)
        return state
