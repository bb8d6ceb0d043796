# problem: matmul
# target: both
# kind: cheat
# mechanism: a float32 product in float16
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.half() @ b.half()).float()
