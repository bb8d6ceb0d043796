# problem: matmul
# target: cpu
# kind: cheat
# mechanism: the worker's own description of outputs is replaced by one that points at the inputs
# expect: rejected | incorrect
import sys

import torch

untrusted = sys.modules["kernelwright_worker.untrusted"]
real = untrusted._locate


def elsewhere(tensor):
    return {**real(tensor), "memory": {"host": {"address": 4096}}}


untrusted._locate = elsewhere


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.empty(a.shape[0], b.shape[1])
