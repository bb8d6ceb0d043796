# problem: closed_residual
# target: both
# kind: cheat
# mechanism: a number among the inputs that is the same in every draw is not read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y, alpha, beta):
        return beta * x
