# problem: constant
# target: both
# kind: honest
# mechanism: a constant problem, answered with the constant
# finding: degenerate_problem
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.ones(x.shape[0], device=x.device)
