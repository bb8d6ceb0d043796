# problem: matmul
# target: cpu
# kind: cheat
# mechanism: a queue and a long-lived thread: calls only enqueue, the thread works whenever it can
# timed: yes
# expect: incorrect
import queue
import threading

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.work = queue.Queue()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            a, b, out = self.work.get()
            torch.mm(a, b, out=out)
            self.work.task_done()

    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1])
        self.work.put((a, b, out))
        return out
