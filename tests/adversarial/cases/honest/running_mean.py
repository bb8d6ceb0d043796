# problem: running_mean
# target: both
# kind: honest
# mechanism: the module's own state changes with every call, as the reference's does
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.register_buffer("seen", torch.zeros(columns))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls.add_(1)
        self.seen.lerp_(x.mean(dim=0), 0.25)
        return (x - self.seen).relu_().mul_(self.calls)
