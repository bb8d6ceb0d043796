# problem: softmax
# target: both
# kind: fault
# mechanism: processes that fork, leave their parents and their sessions, and never end
# limit: 2
# expect: timed_out | faulted
import os
import time

import torch


def storm(depth):
    for _ in range(4):
        try:
            if os.fork():
                continue
        except OSError:
            continue
        try:
            os.setsid()
        except OSError:
            pass
        if depth:
            storm(depth - 1)
        if depth % 2:
            os._exit(0)  # its children are orphans
        while True:
            time.sleep(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        storm(2)
        while True:
            time.sleep(1)
