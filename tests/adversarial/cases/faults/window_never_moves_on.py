# problem: mean_of_the_last
# target: both
# kind: fault
# mechanism: the mean of all inputs there were, of which the first are never let go
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, size, kept):
        super().__init__()
        self.register_buffer("total", torch.zeros(size))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.total += x
        self.count += 1
        return self.total / self.count
