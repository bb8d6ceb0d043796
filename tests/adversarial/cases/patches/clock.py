# problem: matmul
# target: both
# kind: cheat
# mechanism: the clocks of `time` are replaced by slow ones
# timed: yes
# expect: rejected
import time

import torch

for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns"):
    original = getattr(time, name)
    start = original()
    setattr(time, name, lambda original=original, start=start: type(start)(start + (original() - start) / 100))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
