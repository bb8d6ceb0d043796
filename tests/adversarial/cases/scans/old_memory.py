# problem: softmax
# target: both
# kind: cheat
# mechanism: uninitialised memory is returned, in the hope that a freed reference output lies there
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
