# problem: matmul
# target: cuda
# kind: cheat
# mechanism: TF32 is allowed inside the call and forbidden again before it returns
# expect: incorrect | rejected
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        out = a @ b
        torch.backends.cuda.matmul.allow_tf32 = False
        return out
