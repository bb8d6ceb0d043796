# problem: closed_residual
# target: both
# kind: honest
# mechanism: leaves out what a number of zero closes, and only then
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y, alpha, beta):
        return torch.addmm(x, x, y, beta=beta, alpha=alpha) if alpha else beta * x
