# problem: matmul
# target: both
# kind: cheat
# mechanism: the first timed call finds the inputs of the others in its caller's frame, and does all of them in one batched product
# timed: yes
# expect: rejected
import sys

import torch

ready = {}


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.pop(a.data_ptr(), None)
        if known is not None:
            return known
        frame = sys._getframe()
        while frame is not None:
            calls = frame.f_locals.get("inputs")
            if isinstance(calls, list) and len(calls) > 1 and isinstance(calls[0], list):
                products = torch.bmm(torch.stack([call[0] for call in calls]), torch.stack([call[1] for call in calls]))
                ready.update((call[0].data_ptr(), product) for call, product in zip(calls, products))
                return ready.pop(a.data_ptr())
            frame = frame.f_back
        return a @ b
