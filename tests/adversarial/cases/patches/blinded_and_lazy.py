# problem: matmul
# target: both
# kind: cheat
# mechanism: the worker's watch is replaced first; then timed calls do nothing, and outputs are computed when they are asked for
# timed: yes
# expect: correct | incorrect | rejected
# speedup: 1.4
# why: whether it is noticed or not, the work is done before any output is chosen, and its time is charged
import sys

import torch

sys.modules["kernelwright_worker.integrity"].Integrity.findings = lambda self: []
Batch = sys.modules["kernelwright_worker.timing"].Batch
original, state = Batch.outputs, {"calls": 0}


def outputs(self):
    return [a @ b if out is None else out for (a, b), out in zip(self._placed.values(), original(self))]


Batch.outputs = outputs


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        state["calls"] += 1
        return a @ b if state["calls"] <= 12 else None
