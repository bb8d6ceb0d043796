# problem: softmax
# target: both
# kind: fault
# mechanism: a lock that is never released
# limit: 2
# expect: timed_out
import threading

import torch

lock = threading.Lock()
lock.acquire()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with lock:
            return torch.softmax(x, dim=-1)
