# problem: matmul
# target: both
# kind: cheat
# mechanism: timed calls do nothing; the worker's own code is replaced so that an output is computed when it is asked for
# timed: yes
# expect: rejected
import sys

import torch

Batch = sys.modules["kernelwright_worker.timing"].Batch
state = {"calls": 0}


def output(self, entry):
    a, b = self._placed[entry]
    return a @ b


Batch.output = output


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        state["calls"] += 1
        return a @ b if state["calls"] <= 12 else None
