# problem: matmul
# target: both
# kind: cheat
# mechanism: precomputation while the inputs of timed calls are made, by replacing the code that makes them
# timed: yes
# expect: rejected | incorrect
import sys

import torch

timing = sys.modules["kernelwright_worker.timing"]
made, ready = timing.apply_each, {}


def apply_each(inputs, wanted, device):
    calls = made(inputs, wanted, device)
    ready.update((a.data_ptr(), a @ b) for a, b in calls)
    return calls


timing.apply_each = apply_each


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.get(a.data_ptr())
        return a @ b if known is None else known
