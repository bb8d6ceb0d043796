# problem: matmul
# target: cuda
# kind: cheat
# mechanism: every call makes another stream the current one and works there, so that no event of the caller's has anything to wait for
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = [torch.cuda.Stream() for _ in range(4)]

    def forward(self, a, b):
        self.streams.append(self.streams.pop(0))
        torch.cuda.set_stream(self.streams[0])
        return torch.mm(a, b)
