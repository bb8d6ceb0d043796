# problem: matmul
# target: cuda
# kind: cheat
# mechanism: work on a side stream that nobody joins, so that events on the current stream end early
# timed: yes
# expect: correct | incorrect
# speedup: 1.3
# why: it is so short that it has mostly ended before the next operator could begin; the device is synchronised inside the timed window, so nothing is gained
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        with torch.cuda.stream(self.stream):
            torch.mm(a, b, out=out)
        return out
