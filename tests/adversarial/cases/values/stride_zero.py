# problem: softmax
# target: both
# kind: cheat
# mechanism: one element for the whole output, by strides of zero
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)[:1, :1].expand_as(x)
