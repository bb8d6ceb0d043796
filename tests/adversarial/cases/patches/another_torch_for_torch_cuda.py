# problem: matmul
# target: cuda
# kind: cheat
# mechanism: work on a side stream, and `torch.cuda` sees another torch, in which `synchronize` waits for nothing
# timed: yes
# expect: rejected
import torch


class Extension:
    def __getattr__(self, name):
        return getattr(torch._C, name)

    def _cuda_synchronize(self):
        pass


class Torch:
    _C = Extension()

    def __getattr__(self, name):
        return getattr(torch, name)


torch.cuda.torch = Torch()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        with torch.cuda.stream(self.stream):
            for _ in range(50):
                torch.mm(a, b, out=out)
        return out
