# problem: softmax
# target: cpu
# kind: fault
# mechanism: an output of many gigabytes, by strides
# expect: incorrect | rejected
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros(1).expand(1 << 20, 1 << 20)
