# problem: matmul
# target: cuda
# kind: honest
# mechanism: a side stream that is joined by an event, and a result that is copied into memory of its own there
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stream, self.done = torch.cuda.Stream(), torch.cuda.Event()

    def forward(self, a, b):
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            out = torch.empty(a.shape[0], b.shape[1], device=a.device).copy_(a @ b)
            self.done.record()
        here.wait_event(self.done)
        out.record_stream(here)
        return out
