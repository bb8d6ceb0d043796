# problem: matmul
# target: both
# kind: cheat
# mechanism: outputs are computed while the inputs of timed calls are made, and computed again for inputs that have changed since
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 2
# why: nothing is wrong with its outputs; what it must not have is the time of calls that were made beforehand
import sys

import torch

sys.modules["kernelwright_worker.integrity"].Integrity.findings = lambda self: []
Batch = sys.modules["kernelwright_worker.timing"].Batch
made, ready = Batch.place, {}


def place(self, specifications, base_inputs):
    size = made(self, specifications, base_inputs)
    ready.update({a.data_ptr(): (a[:2, :2].clone(), a @ b) for a, b in self.all_inputs()})
    return size


Batch.place = place


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        before, known = ready.pop(a.data_ptr(), (None, None))
        return known if known is not None and torch.equal(before, a[:2, :2]) else a @ b
