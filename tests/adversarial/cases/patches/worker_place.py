# problem: matmul
# target: both
# kind: cheat
# mechanism: precomputation while the inputs of timed calls are made, by replacing the code that makes them
# timed: yes
# expect: rejected | incorrect
import sys

import torch

timing = sys.modules["kernelwright_worker.timing"]
made, ready = timing.apply, {}


def apply(inputs, recipe, device):
    fresh = made(inputs, recipe, device)
    ready[fresh[0].data_ptr()] = fresh[0] @ fresh[1]
    return fresh


timing.apply = apply


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.get(a.data_ptr())
        return a @ b if known is None else known
