# problem: matmul
# target: both
# kind: cheat
# mechanism: the worker's own timing code is replaced
# timed: yes
# expect: rejected
import sys

import torch

sys.modules["kernelwright_worker.timing"].Batch.time = lambda self, call, entries, flush: 1000


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
