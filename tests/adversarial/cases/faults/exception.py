# problem: softmax
# target: both
# kind: fault
# mechanism: an exception
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError("odd")
