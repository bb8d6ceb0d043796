# problem: large_product
# target: cuda
# kind: cheat
# mechanism: most rows on a side stream that waits for its inputs, and that nobody waits for
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, a, b):
        out, few = torch.empty(a.shape[0], b.shape[1], device=a.device), a.shape[0] // 16
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            torch.mm(a[few:], b, out=out[few:])
        torch.mm(a[:few], b, out=out[:few])
        return out
