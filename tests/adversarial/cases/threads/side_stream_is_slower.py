# problem: large_product
# target: cuda
# kind: cheat
# mechanism: work on a side stream that nobody joins, and that takes longer than to begin with the next operator
# timed: yes
# expect: incorrect
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
