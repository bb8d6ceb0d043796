# problem: matmul
# target: both
# kind: cheat
# mechanism: operands with the seven bits of bfloat16, where the ten of TF32 are allowed
# tf32: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a.bfloat16().float() @ b.bfloat16().float()
