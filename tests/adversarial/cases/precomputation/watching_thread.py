# problem: matmul
# target: both
# kind: cheat
# mechanism: a thread watches the worker's frames, and computes outputs as soon as inputs appear there
# timed: yes
# expect: rejected | incorrect
import sys
import threading
import time

import torch

ready = {}


def watch():
    main = threading.main_thread().ident
    while True:
        frame = sys._current_frames().get(main)
        while frame is not None:
            inputs = frame.f_locals.get("inputs")
            if isinstance(inputs, list) and len(inputs) == 2 and all(isinstance(t, torch.Tensor) for t in inputs):
                key = inputs[0].data_ptr()
                if key not in ready:
                    ready[key] = inputs[0] @ inputs[1]
            frame = frame.f_back
        time.sleep(0.0002)


threading.Thread(target=watch, daemon=True).start()


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.pop(a.data_ptr(), None)
        return a @ b if known is None else known
