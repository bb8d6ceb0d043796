# problem: matmul
# target: cuda
# kind: fault
# mechanism: half of a product is made on a side stream, and what puts the halves together does not wait for it
# expect: incorrect
# why: it mostly ends before the other half does, and does not where its stream is late
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, a, b):
        half, here = b.shape[1] // 2, torch.cuda.current_stream()
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            right = torch.mm(a, b[:, half:])
        left = torch.mm(a, b[:, :half])
        right.record_stream(here)
        return torch.cat([left, right], 1)
