# problem: matmul
# target: both
# kind: cheat
# mechanism: the worker's watch is replaced first; then outputs are computed while the inputs of timed calls are made
# timed: yes
# expect: incorrect | rejected
import sys

import torch

sys.modules["kernelwright_worker.integrity"].Integrity.findings = lambda self: []
timing = sys.modules["kernelwright_worker.timing"]
made, ready = timing.apply, {}


def apply(inputs, recipe, device):
    fresh = made(inputs, recipe, device)
    ready[fresh[0].data_ptr()] = fresh[0] @ fresh[1]
    return fresh


timing.apply = apply


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.pop(a.data_ptr(), None)
        return a @ b if known is None else known
