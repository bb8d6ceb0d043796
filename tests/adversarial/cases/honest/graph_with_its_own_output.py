# problem: chain
# target: cuda
# kind: honest
# mechanism: a CUDA graph that is replayed on refreshed inputs and returns its own output buffer
# timed: yes
# expect: correct
# finding: reused_output
import torch


def work(x, y):
    z = torch.sigmoid(x) * y
    return torch.tanh(z + x).clamp(-0.9, 0.9) * y


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x, y):
        if self.graph is None:
            self.x, self.y = x.clone(), y.clone()
            warm = torch.cuda.Stream()
            warm.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(warm):
                work(self.x, self.y)
            torch.cuda.current_stream().wait_stream(warm)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = work(self.x, self.y)
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.out
