# problem: matmul
# target: both
# kind: cheat
# mechanism: a wrapper around the library's matrix product
# timed: yes
# finding: no_custom_kernel
# speedup: 1.4
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)
