# problem: matmul
# target: cpu
# kind: cheat
# mechanism: children that spin for ever, to take processor time from the baseline
# timed: yes
# expect: correct | rejected | faulted | timed_out
# speedup: 1.4
import os

import torch

for _ in range(4):
    if os.fork() == 0:
        while True:
            pass


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
