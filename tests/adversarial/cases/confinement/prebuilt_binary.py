# problem: softmax
# target: both
# kind: cheat
# mechanism: a binary that was left on the machine earlier is loaded
# expect: build_failed
import ctypes

import torch

library = ctypes.CDLL("/tmp/kernels/prebuilt_softmax.so")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
