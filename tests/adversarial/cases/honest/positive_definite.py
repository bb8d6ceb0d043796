# problem: positive_definite
# target: both
# kind: honest
# mechanism: its input is of a kind that no other draw has
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a):
        return torch.linalg.cholesky_ex(a).L
