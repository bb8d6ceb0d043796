# problem: softmax
# target: both
# kind: fault
# mechanism: an index off by one
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1).roll(1, dims=-1)
