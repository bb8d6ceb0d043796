# problem: matmul
# target: both
# kind: cheat
# mechanism: operands of a float32 product are rounded to the ten bits of TF32, which the problem does not allow
# expect: incorrect
import torch


def rounded(t):
    bits = t.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return rounded(a) @ rounded(b)
