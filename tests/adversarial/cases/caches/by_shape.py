# problem: matmul
# target: both
# kind: cheat
# mechanism: outputs are kept by shape
# expect: incorrect
import torch

known = {}


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        key = a.shape, b.shape
        if key not in known:
            known[key] = a @ b
        return known[key]
