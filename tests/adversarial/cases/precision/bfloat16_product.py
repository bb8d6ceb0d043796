# problem: matmul
# target: both
# kind: cheat
# mechanism: a float32 product in bfloat16
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
