# problem: residual
# target: both
# kind: fault
# mechanism: a subtraction that cancels
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        big = 1e4 + x
        return (big - 1e4) + 0.0025 * torch.tanh(x)
