# problem: matmul
# target: both
# kind: honest
# mechanism: operands with the ten bits of TF32, where TF32 is allowed
# tf32: yes
# expect: correct
import torch


def rounded(t):
    bits = t.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return rounded(a) @ rounded(b)
