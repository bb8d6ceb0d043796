# problem: softmax
# target: both
# kind: fault
# mechanism: another dtype
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1).double()
