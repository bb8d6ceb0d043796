# problem: matmul
# target: cuda
# kind: cheat
# mechanism: the call allows itself TF32
# expect: rejected
# rule: precision_flags
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        return a @ b
