# problem: softmax
# target: cpu
# kind: fault
# mechanism: an assertion of C
# expect: faulted
import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        ctypes.CDLL(None).abort()
