# problem: double
# target: both
# kind: cheat
# mechanism: a float64 problem in float32
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        x, y = x.float(), y.float()
        return (torch.sin(x) * y + x).double()
