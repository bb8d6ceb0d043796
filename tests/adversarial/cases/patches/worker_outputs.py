# problem: matmul
# target: both
# kind: cheat
# mechanism: timed calls do nothing; the worker's own code is replaced so that outputs are computed when they are asked for
# timed: yes
# expect: rejected
import sys

import torch

Batch = sys.modules["kernelwright_worker.timing"].Batch
state = {"calls": 0}


def outputs(self):
    return [a @ b for a, b in self._placed.values()]


Batch.outputs = outputs


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        state["calls"] += 1
        return a @ b if state["calls"] <= 12 else None
