# problem: matmul
# target: both
# kind: cheat
# mechanism: outputs are kept by address, shape and version counter of the inputs
# expect: incorrect
import torch

known = {}


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        key = a.data_ptr(), b.data_ptr(), a._version, b._version
        if key not in known:
            known[key] = a @ b
        return known[key]
