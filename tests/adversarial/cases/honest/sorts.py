# problem: sorting
# target: both
# kind: honest
# mechanism: the same sort as the problem's, which takes several times as long on data that it has not seen
# timed: yes
# expect: correct
# finding: no_custom_kernel
# speedup: 2.0
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.sort(x).values
