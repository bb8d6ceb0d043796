# problem: matmul
# target: both
# kind: cheat
# mechanism: honest while it is checked, a thread that works after the call once it is timed
# timed: yes
# expect: incorrect | correct
# speedup: 1.4
# why: outputs that are not there when they are asked for are wrong; a thread that is done by then has worked in the time that is charged
import threading
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, a, b):
        self.calls += 1
        if self.calls <= 12:
            return a @ b
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)

        def work():
            time.sleep(0.002)
            torch.mm(a, b, out=out)

        threading.Thread(target=work).start()
        return out
