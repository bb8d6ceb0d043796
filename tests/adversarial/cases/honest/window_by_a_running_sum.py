# problem: mean_of_the_last
# target: both
# kind: honest
# mechanism: a running sum of what is in the window, from which what leaves it is taken
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, size, kept):
        super().__init__()
        self.register_buffer("window", torch.zeros(kept, size))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("total", torch.zeros(size))

    def forward(self, x):
        place = self.count % len(self.window)
        self.total += x - self.window[place]
        self.window[place] = x
        self.count += 1
        return self.total / self.count.clamp(max=len(self.window))
