# problem: matmul
# target: both
# kind: cheat
# mechanism: the code inside the worker's functions is exchanged, the functions stay the same
# timed: yes
# expect: rejected | incorrect
import sys

import torch

timing = sys.modules["kernelwright_worker.timing"]
ready = {}
timing.ready = ready
source = """
def place(self, specifications, base_inputs):
    self.clear()
    for item in specifications:
        fresh = apply(base_inputs(item["base"]), Recipe.parse(item.get("recipe")), self._device.torch)
        self._placed[item["entry"]] = fresh
        ready[fresh[0].data_ptr()] = fresh[0] @ fresh[1]
    return 1
"""
made = {}
exec(source, timing.__dict__, made)
timing.Batch.place.__code__ = made["place"].__code__


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.get(a.data_ptr())
        return a @ b if known is None else known
