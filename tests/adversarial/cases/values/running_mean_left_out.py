# problem: running_mean
# target: both
# kind: cheat
# mechanism: state that changes from call to call is left out
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.register_buffer("seen", torch.zeros(columns))

    def forward(self, x):
        return torch.relu(x - self.seen)
