# problem: matmul
# target: cuda
# kind: cheat
# mechanism: a CUDA graph of the first call is replayed without its inputs being refreshed
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, a, b):
        if self.graph is None:
            self.a, self.b = a.clone(), b.clone()
            warm = torch.cuda.Stream()
            warm.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(warm):
                self.a @ self.b
            torch.cuda.current_stream().wait_stream(warm)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.a @ self.b
        self.graph.replay()
        return self.out.clone()
