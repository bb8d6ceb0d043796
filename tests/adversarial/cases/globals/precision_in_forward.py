# problem: matmul
# target: both
# kind: cheat
# mechanism: the call lowers the precision of float32 products for itself
# expect: rejected
# rule: precision_flags
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        torch.set_float32_matmul_precision("medium")
        return a @ b
