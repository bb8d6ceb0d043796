# problem: small_systems
# target: both
# kind: honest
# mechanism: factors first, then what they give for the right-hand sides
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b)
