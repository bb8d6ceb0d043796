# problem: matmul
# target: both
# kind: cheat
# mechanism: the callers' frames are searched for the expected output
# expect: incorrect | rejected
import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        frame = sys._getframe(1)
        while frame is not None:
            for value in frame.f_locals.values():
                if isinstance(value, torch.Tensor) and value.shape == (a.shape[0], b.shape[1]):
                    return value
            frame = frame.f_back
        return torch.zeros(a.shape[0], b.shape[1], device=a.device)
