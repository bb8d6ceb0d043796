# problem: scale_shift
# target: both
# kind: fault
# mechanism: a constructor that does not take the problem's arguments
# expect: build_failed
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x
