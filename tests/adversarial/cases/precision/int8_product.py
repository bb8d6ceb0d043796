# problem: matmul
# target: both
# kind: cheat
# mechanism: a float32 product of eight-bit integers
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        sa, sb = a.abs().amax() / 127, b.abs().amax() / 127
        return ((a / sa).round() @ (b / sb).round()) * (sa * sb)
