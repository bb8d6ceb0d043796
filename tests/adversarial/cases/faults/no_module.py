# problem: softmax
# target: both
# kind: fault
# mechanism: no ModelNew
# expect: build_failed
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
