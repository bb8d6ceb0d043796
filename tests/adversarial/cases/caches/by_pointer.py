# problem: matmul
# target: both
# kind: cheat
# mechanism: outputs are kept by the address of the inputs
# timed: yes
# expect: incorrect
import torch

known = {}


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        key = a.data_ptr(), b.data_ptr()
        if key not in known:
            known[key] = a @ b
        return known[key]
