# problem: matmul
# target: both
# kind: cheat
# mechanism: the collector's list of objects is searched for a tensor that looks like the expected output
# expect: rejected
import gc

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        for item in gc.get_objects():
            if type(item) is torch.Tensor and item.shape == (a.shape[0], b.shape[1]) and item.device == a.device:
                return item
        return a @ b
