# problem: matmul
# target: both
# kind: cheat
# mechanism: calls inside a batch are skipped; the last one, by the length of the batches before, is honest
# timed: yes
# expect: incorrect
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.inside, self.length, self.end = 0, 0, 0, 0.0

    def forward(self, a, b):
        self.calls += 1
        now = time.perf_counter()
        if now - self.end > 0.003:
            self.length, self.inside = self.inside, 0
        self.inside += 1
        skipped = self.calls > 60 and 1 < self.inside < self.length
        out = torch.empty(a.shape[0], b.shape[1], device=a.device) if skipped else a @ b
        self.end = time.perf_counter()
        return out
