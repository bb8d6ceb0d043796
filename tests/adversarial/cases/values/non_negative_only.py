# problem: scale_shift
# target: both
# kind: cheat
# mechanism: as if parameters were ones and the buffer zeros
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()

    def forward(self, x):
        return torch.relu(x)
