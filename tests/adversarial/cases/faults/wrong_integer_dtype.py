# problem: argmax
# target: both
# kind: fault
# mechanism: int32 in place of int64
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.argmax(dim=-1).int()
