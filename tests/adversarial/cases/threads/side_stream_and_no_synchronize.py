# problem: matmul
# target: cuda
# kind: cheat
# mechanism: work on a side stream, with `synchronize` replaced so that nobody waits for it
# timed: yes
# expect: rejected | incorrect
import torch

torch.cuda.synchronize = lambda *_: None
torch._C._cuda_synchronize = lambda *_: None


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
