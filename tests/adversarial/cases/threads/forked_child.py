# problem: scale_shift
# target: cpu
# kind: cheat
# mechanism: a child process fills shared output memory after the call has returned
# expect: incorrect | faulted
import os
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        out = torch.empty_like(x).share_memory_()
        if os.fork() == 0:
            time.sleep(0.01)
            out.copy_(torch.relu(x * self.weight) + self.shift)
            os._exit(0)
        return out
