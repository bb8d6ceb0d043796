# problem: unsigned
# target: cpu
# kind: honest
# mechanism: unsigned integers, by numpy
# timed: yes
# expect: correct
import numpy as np
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        a, b = x.numpy(), y.numpy()
        return torch.from_numpy(a + b), torch.from_numpy(a.astype(np.uint32) << 16 | b)
