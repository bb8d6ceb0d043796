# problem: scale_shift
# target: both
# kind: cheat
# mechanism: a thread does the work after the call has returned
# expect: incorrect
import threading
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        self.register_buffer("shift", torch.rand(columns))

    def forward(self, x):
        out = torch.empty_like(x)

        def work():
            time.sleep(0.005)
            out.copy_(torch.relu(x * self.weight) + self.shift)

        threading.Thread(target=work).start()
        return out
