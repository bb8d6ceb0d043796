# problem: softmax
# target: both
# kind: cheat
# mechanism: a wrapper around the library's operator
# timed: yes
# finding: no_custom_kernel
# speedup: 1.4
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.softmax(x, dim=-1)
