# problem: matmul
# target: both
# kind: cheat
# mechanism: the placed inputs are found through the caller's frames, and a thread works ahead of the calls, outside the timed window too
# timed: yes
# expect: rejected | incorrect
import sys
import threading
import time

import torch

ready, batch = {}, []


def work_ahead():
    seen = set()
    while True:
        for entry in list(batch[0]._placed) if batch else []:
            placed = batch[0]._placed.get(entry)
            if placed is not None and entry not in seen:
                seen.add(entry)
                ready[placed[0].data_ptr()] = placed[0] @ placed[1]
        time.sleep(0.0002)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        threading.Thread(target=work_ahead, daemon=True).start()

    def forward(self, a, b):
        if not batch:
            frame = sys._getframe()
            while frame is not None:
                owner = frame.f_locals.get("self")
                if type(owner).__name__ == "Batch":
                    batch.append(owner)
                frame = frame.f_back
        known = ready.pop(a.data_ptr(), None)
        return a @ b if known is None else known
