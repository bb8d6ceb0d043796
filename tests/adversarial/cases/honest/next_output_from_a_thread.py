# problem: chain
# target: cpu
# kind: honest
# mechanism: a thread allocates the next call's output while the caller uses this one's
# timed: yes
# expect: correct
import threading

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.thread, self.next = None, None

    def allocate(self, like):
        self.next = torch.empty_like(like)

    def forward(self, x, y):
        if self.thread is None:
            self.allocate(x)
        else:
            self.thread.join()
        out = self.next
        z = torch.sigmoid(x) * y
        torch.mul(torch.tanh(z + x).clamp_(-0.9, 0.9), y, out=out)
        self.thread = threading.Thread(target=self.allocate, args=(x,))
        self.thread.start()
        return out
