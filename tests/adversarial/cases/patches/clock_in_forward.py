# problem: matmul
# target: both
# kind: cheat
# mechanism: a clock is replaced during the calls only, long after everything was checked
# timed: yes
# expect: rejected
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, a, b):
        self.calls += 1
        if self.calls == 10:
            time.perf_counter_ns = lambda: 0
        return a @ b
