# problem: softmax
# target: cpu
# kind: fault
# mechanism: a write far out of bounds
# expect: faulted
import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=-1)
        ctypes.memset(out.data_ptr() + (1 << 45), 0, 64)
        return out
