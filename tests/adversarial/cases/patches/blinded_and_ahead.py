# problem: matmul
# target: both
# kind: cheat
# mechanism: the worker's watch is replaced first; then outputs are computed while the inputs of timed calls are made
# timed: yes
# expect: incorrect | rejected
import sys

import torch

sys.modules["kernelwright_worker.integrity"].Integrity.findings = lambda self: []
Batch = sys.modules["kernelwright_worker.timing"].Batch
made, ready = Batch.place, {}


def place(self, specifications, base_inputs):
    size = made(self, specifications, base_inputs)
    ready.update({a.data_ptr(): a @ b for a, b in self.all_inputs()})
    return size


Batch.place = place


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.pop(a.data_ptr(), None)
        return a @ b if known is None else known
